"""Full disks and failing system calls: an error of one line, and the same command completes."""

from __future__ import annotations

import collections
import contextlib
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from fault_injection import corpus
from fault_injection.effort import Effort
from fault_injection.processes import Command, Ended, call
from fault_injection.tracing import count_calls, run_with_fault

import crx
from crx.errors import CrxError, NoRoom, SystemFailure
from crx.ingest.write import DocumentWriter, SituatedChunks, Source
from crx.types import Chunk

DOCUMENTS = 6
# Exit codes: 6 is no room or a failed system call, 4 a derived file that cannot be read back.
REFUSED = (4, 6)
KILLS = ("signal=SIGKILL:when={}",)
ERRORS = ("error=EIO:when={}", "error=ENOSPC:when={}", "error=ENOSPC:when={}+")

needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRX_EMBEDDER", "hashed")
    corpus.write_files(tmp_path / "docs", DOCUMENTS)
    return tmp_path / "docs"


def complete(docs: Path, index: Path, top: Path) -> None:
    """Run the command again, without a fault, and require a whole index."""
    done = call(Command(words(docs, index)), folder=top)
    assert done.code == 0, done.output
    require_whole(docs, index)


def require_whole(docs: Path, index: Path) -> None:
    """Require an index that is intact and up to date, and finds every document."""
    with crx.open(index, create=False) as opened:
        assert opened.verify().faults == ()
        assert opened.status().notes == ()
        assert opened.store.stats()["documents"] == len(list(docs.iterdir()))
        hits = opened.search("in", k=100, legs=["dense"]).hits
        assert {hit.uri for hit in hits} == {str(each) for each in docs.iterdir()}


def require_one_line(code: int, output: str) -> None:
    assert code in (0, *REFUSED), (code, output)
    assert "Traceback" not in output
    assert "panicked" not in output
    if code:
        assert output.startswith("crx: "), output
        assert output.count("\n") == 1, output


# full disks


@contextlib.contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[None]:
    place.mkdir(exist_ok=True)
    mount(place, f"size={kilobytes}k")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def mount(place: Path, options: str) -> None:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    try:
        with small_disk(tmp_path / "disk", 1024):
            pass
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("may not mount a file system here; needs root")
    return tmp_path / "disk"


def fill(
    docs: Path, index: Path, *, kilobytes: int, before: Callable[[], object] | None = None
) -> int:
    """Index onto a small disk, give it the room that the error names, and complete the index.

    Returns the exit code on the small disk.
    """
    top = docs.parent
    full = call(Command(words(docs, index), before), folder=top)
    require_one_line(full.code, full.output)
    if full.code:
        assert str(index) in full.output, full.output
        needed = re.search(r"about (\d+) MB more are needed", full.output)
        assert needed, full.output
        mount(index.parent, f"remount,size={kilobytes + 1000 * int(needed[1])}k")
    else:
        require_whole(docs, index)
        mount(index.parent, "remount,size=64m")
    complete(docs, index, top)
    return full.code


def hide_full_disks() -> None:
    """Plant a fault: a full disk is no failure."""
    NoRoom.exit_code = 0


def test_the_harness_finds_a_full_disk_that_is_no_failure(docs: Path, disk: Path) -> None:
    with small_disk(disk, 300), pytest.raises((AssertionError, CrxError)):
        fill(docs, disk / "i.crx", kilobytes=300, before=hide_full_disks)


def test_an_index_on_a_disk_of_any_size_is_whole_or_refused_and_completed(
    docs: Path, disk: Path, effort: Effort, tmp_path: Path
) -> None:
    sizes = effort.runs(quick=6, full=100)
    codes: collections.Counter[int] = collections.Counter()
    for at in range(sizes):
        kilobytes = 16 + 900 * at // sizes
        with small_disk(disk, kilobytes):
            codes[fill(docs, disk / "i.crx", kilobytes=kilobytes)] += 1
        effort.done += 1
    assert codes[6] >= sizes // 4, codes
    effort.notes.append(", ".join(f"{count} exit with {code}" for code, count in codes.items()))


# system calls


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of each run, so that the user's key is made in each, and one thread, so that each run
    makes the same calls.
    """
    monkeypatch.setenv("CRX_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CRX_THREADS", "1")
    return tmp_path / "home"


def run_and_complete(
    docs: Path, home: Path, call: str, fault: str, before: Callable[[], object] | None = None
) -> Ended:
    """Run a command with a fault in a system call, then without; returns how the first ended."""
    top = docs.parent
    index = top / "i.crx"
    for folder in (index, home):
        shutil.rmtree(folder, ignore_errors=True)
    ended = run_with_fault(words(docs, index), call=call, fault=fault, folder=top, before=before)
    if "SIGKILL" in fault:
        assert ended.code in (0, -9), ended
    elif call == "write" and not ended.output:
        assert ended.code in REFUSED, ended  # the line could not be written either
    else:
        require_one_line(ended.code, ended.output)
    if ended.code == 0:
        require_whole(docs, index)
    complete(docs, index, top)
    return ended


@needs_strace
@pytest.mark.parametrize("kinds", [KILLS, ERRORS], ids=["killed", "failed"])
def test_a_run_is_completed_whichever_system_call_kills_it_or_fails(
    docs: Path, home: Path, effort: Effort, tmp_path: Path, kinds: Sequence[str]
) -> None:
    counts = count_calls(words(docs, tmp_path / "undisturbed.crx"), folder=tmp_path)
    faults = [
        (name, fault.format(at))
        for name, count in counts.items()
        for at in range(1, count + 1)
        for fault in kinds
    ]
    chosen = sample(faults, effort.runs(quick=2, full=len(faults)), effort.chance)
    effort.notes.append(f"of {len(faults)} faults: {dict(counts)}")
    codes: collections.Counter[int] = collections.Counter()
    harm = []
    for name, fault in chosen:
        try:
            codes[run_and_complete(docs, home, name, fault).code] += 1
        except (AssertionError, CrxError) as failed:
            harm.append(f"{name}:{fault}: {failed}")
            effort.notes.append(harm[-1][:400])
        effort.done += 1
    effort.notes.append(", ".join(f"{count} exit with {code}" for code, count in codes.items()))
    assert not harm, "\n".join(harm)


@needs_strace
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_process_that_reads_and_cannot_answer_ends_the_run(
    docs: Path, home: Path, error: str
) -> None:
    # Each process that reads fails in its fifth answer, and no other process writes so often.
    ended = run_and_complete(docs, home, "write", f"error={error}:when=5")
    assert ended.code == SystemFailure.exit_code
    assert "the process that reads files cannot answer" in ended.output


@needs_strace
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_command_that_can_write_nothing_at_all_ends_with_its_exit_code(
    docs: Path, home: Path, error: str
) -> None:
    for at in (1, 20, 42):
        ended = run_and_complete(docs, home, "write", f"error={error}:when={at}+")
        assert (ended.code, ended.output) == (6, "")


def words(docs: Path, index: Path) -> tuple[str, ...]:
    return ("index", str(docs), "--index", str(index), "-q")


def sample(
    faults: list[tuple[str, str]], count: int, chance: random.Random
) -> list[tuple[str, str]]:
    return chance.sample(faults, min(count, len(faults)))


def put_in_two_transactions() -> None:
    """Plant a fault: a document is stored as read before its chunks are."""
    write = DocumentWriter._write

    def write_twice(
        self: DocumentWriter,
        document: crx.Document,
        source: Source,
        chunks: Sequence[Chunk],
        situated: SituatedChunks,
    ) -> None:
        write(self, document, source, [], SituatedChunks([], [], []))
        write(self, document, source, chunks, situated)

    DocumentWriter._write = write_twice  # type: ignore[method-assign]


def ignore_failed_writes() -> None:
    """Plant a fault: a document that could not be stored counts as stored."""
    put = DocumentWriter.put

    def put_if_possible(self: DocumentWriter, document: crx.Document, source: Source) -> None:
        with contextlib.suppress(CrxError):
            put(self, document, source)

    DocumentWriter.put = put_if_possible  # type: ignore[method-assign]


@needs_strace
@pytest.mark.parametrize(
    ("plant", "fault"),
    [(put_in_two_transactions, KILLS[0]), (ignore_failed_writes, ERRORS[0])],
    ids=["killed", "failed"],
)
def test_the_harness_finds_documents_that_are_not_stored(
    docs: Path, home: Path, plant: Callable[[], None], fault: str
) -> None:
    # Most of the writes of a run are those of its documents.
    faults = [fault.format(at) for at in range(60, 360, 15)]
    run = partial(run_and_complete, docs, home, "pwrite64", before=plant)
    with pytest.raises(AssertionError):
        collections.deque(map(run, faults), maxlen=0)
