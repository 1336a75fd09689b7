"""Four processes of four threads that search while a writer commits."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fault_injection.effort import Effort
from fault_injection.processes import Process

import crx

DOCUMENTS = 8
PROCESSES, THREADS = 4, 4
COMMITS = 20
SETTINGS = {"embedder": "hashed"}


def documents(version: int) -> list[crx.Document]:
    return [
        crx.Document(f"mem:{number}", f"Whales eat krill. Document {number} v{version}.")
        for number in range(DOCUMENTS)
    ]


def read(folder: Path, stop: Path) -> dict[str, Any]:
    """Search in several threads until a file appears; return the seconds and what was wrong."""
    seconds: list[float] = []
    faults: list[str] = []
    with crx.open(folder, create=False) as index:
        work = partial(_read_until, index, stop, seconds, faults)
        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return {"seconds": seconds, "faults": faults}


def _read_until(index: crx.Index, stop: Path, seconds: list[float], faults: list[str]) -> None:
    while not stop.exists() and not faults:
        started = time.monotonic()
        try:
            result = index.search("whales krill", k=2 * DOCUMENTS, window=0)
        except Exception as error:  # noqa: BLE001 - told to the test
            faults.append(repr(error))
            return
        seconds.append(time.monotonic() - started)
        # One document is committed after the other: the first ones may be a version ahead.
        found = {int(n): int(v) for n, v in re.findall(r"(\d+) v(\d+)", _texts(result))}
        versions = [found[number] for number in sorted(found)]
        # Beside a writer in another process, the last changes may be missing, which is noted.
        is_noted = any("changes behind" in note for note in result.notes)
        if not is_noted and not is_committed(versions):
            faults.append(f"{versions}: {result.notes}")


def is_committed(versions: list[int]) -> bool:
    """Return whether the first documents are one version ahead of the others, or none is."""
    in_order = versions == sorted(versions, reverse=True)
    return in_order and len(versions) == DOCUMENTS and versions[0] - versions[-1] <= 1


def _texts(result: crx.Result) -> str:
    return " ".join(passage.text for passage in result)


def percentile_99(seconds: list[float]) -> float:
    return sorted(seconds)[int(0.99 * (len(seconds) - 1))]


def search_for(
    seconds: float, folder: Path, *, commits: Sequence[Sequence[crx.Document]] = ()
) -> tuple[list[float], list[str]]:
    """Let readers search for some seconds while commits are spread over them.

    Returns the seconds of each search, and what was wrong.
    """
    stop = folder.with_name("stop")
    readers = [Process(partial(read, folder, stop), folder=folder.parent) for _ in range(PROCESSES)]
    end = time.monotonic() + seconds
    with crx.open(folder, create=False) as index:
        for at, commit in enumerate(commits):
            time.sleep(max(0.0, (end - time.monotonic()) / (len(commits) - at)))
            index.add_documents(commit)
    time.sleep(max(0.0, end - time.monotonic()))
    stop.touch()
    values = [each.wait() for each in readers]
    stop.unlink()
    assert [each.code for each in values] == [0] * PROCESSES, values
    times = [each for ended in values for each in ended.value["seconds"]]
    return times, [fault for ended in values for fault in ended.value["faults"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with crx.open(tmp_path / "notes.crx", settings=SETTINGS) as index:
        index.add_documents(documents(0))
    return tmp_path / "notes.crx"


def test_readers_see_committed_states_while_another_process_commits(
    folder: Path, effort: Effort
) -> None:
    seconds = effort.runs(quick=3, full=60)
    idle, _ = search_for(seconds, folder)
    commits = [documents(version) for version in range(1, COMMITS + 1)]
    busy, faults = search_for(seconds, folder, commits=commits)
    effort.done = len(busy)
    before, during = percentile_99(idle), percentile_99(busy)
    effort.notes.append(f"p99 {1000 * before:.0f} ms idle, {1000 * during:.0f} ms beside a writer")
    assert faults == []
    if seconds >= 60:  # fewer searches have no stable percentile
        assert during < 2 * before


def test_the_harness_finds_a_state_that_was_not_committed(folder: Path) -> None:
    out_of_order = documents(1)[5:]
    _, faults = search_for(1, folder, commits=[out_of_order])
    assert faults
