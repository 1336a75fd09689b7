"""Two writers at once: one writes, the other exits with 5; a killed writer leaves no lock."""

from __future__ import annotations

import re
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_injection import corpus
from fault_injection.damage import copy_folder
from fault_injection.effort import Effort
from fault_injection.processes import Command, Process

import crx
from crx import _native
from crx._index import snapshot, writer
from crx._index.open_store import open_store

DOCUMENTS = 12
# A writer waits 0.5 s for a search that catches up; the rest is for a machine that is busy.
MAX_WAIT_S = 60.0


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRX_EMBEDDER", "hashed")
    documents = [crx.Document(f"mem:{n}", corpus.text(n)) for n in range(DOCUMENTS)]
    with crx.open(tmp_path / "notes.crx", settings=corpus.SETTINGS) as index:
        index.add_documents(documents)
    return tmp_path / "notes.crx"


def race(index: Path, before: Callable[[], object] | None = None) -> float:
    """Start two writers; require that one is refused, and that the lock is free once the other is
    killed. Returns the seconds until the refusal.
    """
    arguments = ("contextualize", "--with", "fake:latency=100ms", "-q", "--index", str(index))
    command = Command(arguments, before=before)
    started = time.monotonic()
    both = [Process(command, folder=index.parent) for _ in range(2)]
    while all(each.is_running() for each in both) and time.monotonic() < started + MAX_WAIT_S:
        time.sleep(0.005)
    waited = time.monotonic() - started
    writing = [each for each in both if each.is_running()]
    pids = [each.pid for each in writing]
    refused = [each.wait() for each in both if each not in writing]
    for each in writing:
        each.kill_after(0)
    with crx.open(index, create=False) as opened:
        opened.remove("mem:none")  # takes the lock
    assert len(refused) == 1, f"not one of two writers was refused: {refused}"
    assert refused[0].code == 5, f"two processes wrote at once: {refused[0]}"
    message = rf"process {pids[0]} on \S+ has been writing for \d+ s; wait for it to end"
    assert re.search(message, refused[0].output), refused[0].output
    return waited


def test_of_two_writers_one_is_refused_by_name_and_a_killed_one_leaves_no_lock(
    index: Path, effort: Effort
) -> None:
    seconds = []
    for _ in range(effort.runs(quick=4, full=500)):
        copy = index.with_name("copy.crx")  # a race makes some of the contexts
        copy_folder(index, copy)
        seconds.append(race(copy))
        shutil.rmtree(copy)
        effort.done += 1
    median = statistics.median(seconds)
    effort.notes.append(f"refused after {median:.2f} s (median), {max(seconds):.2f} s (longest)")


def remove_lock() -> None:
    """Plant a fault: each writer locks a file of its own."""

    def open_unlocked(folder: Path, *, write: bool = False) -> _native.Store:
        if write:
            (folder / "lock").unlink(missing_ok=True)
        return open_store(folder, write=write)

    vars(writer)["open_store"] = open_unlocked
    vars(snapshot)["open_store"] = open_unlocked


def test_the_harness_finds_writers_without_a_lock(index: Path) -> None:
    with pytest.raises(AssertionError, match=r"two processes wrote at once|not one of two"):
        race(index, before=remove_lock)
