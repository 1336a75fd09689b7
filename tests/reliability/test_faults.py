"""Full disks and failing system calls: an error of one line, and the same command completes."""

from __future__ import annotations

import collections
import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from fault_injection import corpus
from fault_injection.effort import Effort
from fault_injection.processes import Command, call

import crx
from crx.errors import CrxError, NoRoom

DOCUMENTS = 6
# Exit codes: 6 is no room or a failed system call, 4 a derived file that cannot be read back.
REFUSED = (4, 6)
CALLS = ("pwrite64", "write", "fsync", "fdatasync", "ftruncate", "renameat", "mkdir", "unlink")
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
    done = call(Command(("index", str(docs), "--index", str(index), "-q")), folder=top)
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
        pytest.skip("may not mount a file system here")
    return tmp_path / "disk"


def fill(docs: Path, index: Path, before: Callable[[], object] | None = None) -> int:
    """Index onto a small disk, then enlarge it and complete the index; returns the exit code."""
    top = docs.parent
    full = call(Command(("index", str(docs), "--index", str(index), "-q"), before), folder=top)
    require_one_line(full.code, full.output)
    if full.code:
        assert str(index) in full.output, full.output
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
        fill(docs, disk / "i.crx", before=hide_full_disks)


def test_an_index_on_a_disk_of_any_size_is_whole_or_refused_and_completed(
    docs: Path, disk: Path, effort: Effort, tmp_path: Path
) -> None:
    sizes = effort.runs(quick=6, full=100)
    codes: collections.Counter[int] = collections.Counter()
    for at in range(sizes):
        with small_disk(disk, 16 + 900 * at // sizes):
            codes[fill(docs, disk / "i.crx")] += 1
        effort.done += 1
    assert codes[6] >= sizes // 4, codes
    effort.notes.append(", ".join(f"{count} exit with {code}" for code, count in codes.items()))


# system calls


def run_traced(docs: Path, index: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = ["strace", "-f", "-qq", "-o", str(index.with_name("trace.txt")), *options]
    command += [sys.executable, "-m", "crx", "index", str(docs), "--index", str(index), "-q"]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "CRX_THREADS": "1"}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def count_calls(docs: Path, index: Path) -> collections.Counter[str]:
    """Return how often an undisturbed run makes each system call in one thread."""
    done = run_traced(docs, index, "-e", f"trace={','.join(CALLS)}")
    assert done.returncode == 0, done.stderr
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    for line in index.with_name("trace.txt").read_text().splitlines():
        if found := re.match(r"(\d+) +(\w+)\(", line):
            counts[found[1], found[2]] += 1
    most: collections.Counter[str] = collections.Counter()
    for (_, name), count in counts.items():
        most[name] = max(most[name], count)
    return most


@needs_strace
@pytest.mark.parametrize("kinds", [KILLS, ERRORS], ids=["killed", "failed"])
def test_a_run_is_completed_whichever_system_call_kills_it_or_fails(
    docs: Path, effort: Effort, tmp_path: Path, kinds: Sequence[str]
) -> None:
    counts = count_calls(docs, tmp_path / "undisturbed.crx")
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
        index = tmp_path / "i.crx"
        done = run_traced(docs, index, "-e", f"trace={name}", "-e", f"inject={name}:{fault}")
        codes[done.returncode] += 1
        try:
            if "SIGKILL" not in fault:
                require_one_line(done.returncode, done.stderr)
            complete(docs, index, tmp_path)
        except (AssertionError, CrxError) as failed:
            harm.append(f"{name}:{fault}: {failed}")
        shutil.rmtree(index, ignore_errors=True)
        effort.done += 1
    effort.notes.append(", ".join(f"{count} exit with {code}" for code, count in codes.items()))
    assert not harm, "\n".join(harm)


def sample(
    faults: list[tuple[str, str]], count: int, chance: random.Random
) -> list[tuple[str, str]]:
    return chance.sample(faults, min(count, len(faults)))
