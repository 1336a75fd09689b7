"""A command that is stopped at any moment leaves one whole file, and resumes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import crx
from crx.errors import NotAnIndex

DOCUMENTS = 60
# Ctrl-C is ignored in a background job; the command is to hear it as in a terminal.
COMMAND = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from crx._cli import main; main()"
)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(DOCUMENTS):
        (folder / f"{n}.md").write_text(
            f"# Note {n}\n\n" + f"Whale number {n} eats krill.\n\n" * 40
        )
    return folder


def documents_in(place: Path) -> int:
    """Return how many documents an index holds; -1 if its creation was interrupted."""
    try:
        with crx.open(place, create=False) as index:
            return index.store.stats()["documents"]
    except NotAnIndex:
        return -1


def moments(count: int) -> list[tuple[int, float]]:
    """Signals and the seconds after the index appears at which they are sent."""
    kinds = (signal.SIGINT, signal.SIGTERM)
    return [(kinds[n % 2], 0.4 * n / count) for n in range(count)]


@pytest.mark.parametrize(
    ("kind", "after_s"),
    [
        *moments(4),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in moments(50)),
    ],
)
def test_a_stopped_command_leaves_a_whole_database_and_resumes(
    docs: Path, tmp_path: Path, kind: int, after_s: float
) -> None:
    place = tmp_path / "notes.crx"
    command = [sys.executable, "-c", COMMAND, "index", str(docs), "--index", str(place)]
    environ = {**os.environ, "CRX_EMBEDDER": "hashed"}
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not (place / "lock").exists() and time.monotonic() < deadline:
        os.sched_yield()
    time.sleep(after_s)
    process.send_signal(kind)
    # At its end, when all is done, Python hears signals no more.
    ended_at_exit = process.wait(60) == -kind and documents_in(place) == DOCUMENTS
    assert ended_at_exit or process.returncode in (0, 130)
    copy = tmp_path / "copy.crx"
    copy.mkdir()
    if (place / "crx.db").exists():
        shutil.copy(place / "crx.db", copy / "crx.db")
        assert documents_in(copy) == documents_in(place)
    assert subprocess.run(command, env=environ, capture_output=True, check=False).returncode == 0
    with crx.open(place, create=False) as index:
        assert index.store.stats()["documents"] == DOCUMENTS
        assert index.status().notes == ()


SWALLOW = """
import os, signal
from crx import _cli as cli
def swallow(arguments):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("in a library") from None
signal.signal(signal.SIGINT, signal.default_int_handler)
cli.run = swallow
cli.main()
"""


def test_an_interrupt_that_a_library_takes_for_a_failure_is_one() -> None:
    done = subprocess.run([sys.executable, "-c", SWALLOW], text=True, capture_output=True)
    told = "crx: interrupted; the same command resumes\n"
    assert (done.returncode, done.stderr) == (130, told)


START = """
import os, signal, sys
from crx.__main__ import main
class Interrupting:
    def find_spec(self, name, *rest):
        if name == "crx._cli":
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
main()
"""


def test_an_interrupt_at_the_start_is_silent() -> None:
    done = subprocess.run([sys.executable, "-c", START], text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
