"""A long run of commits, searches and reopenings: memory, descriptors and disk stay flat."""

from __future__ import annotations

import gc
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from fault_injection import corpus
from fault_injection.effort import Effort

import crx

DOCUMENTS = 40
# Short documents, most of one chunk: an operation costs milliseconds, and a million are wanted.
SETTINGS = {**corpus.SETTINGS, "chunk_chars": 400}
# One document of so many is long.
LONG = 8
# Operations before the first measurement, in which caches fill.
WARM_UP = 200
MEASUREMENTS = 10
MB = 1 << 20
QUERIES = corpus.queries()

needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc")


@dataclass(frozen=True, slots=True)
class Use:
    """What a process and its index use: resident bytes, open descriptors, bytes on disk."""

    memory: int
    descriptors: int
    disk: int

    @staticmethod
    def now(folder: Path) -> Use:
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        return Use(pages * os.sysconf("SC_PAGESIZE"), len(os.listdir("/proc/self/fd")), disk)

    def describe(self) -> str:
        """Return one line."""
        return f"{self.memory / MB:.1f} MB, {self.descriptors} descriptors, {self.disk} on disk"


class Life:
    """An index that is searched, edited and reopened at random."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder = folder
        self.chance = chance
        self.version = 0
        self.index = crx.open(self.folder, settings=SETTINGS)
        self.index.add_documents([self._document(number) for number in range(DOCUMENTS)])

    def step(self) -> None:
        """Do one operation: of 100, 96 are searches, 3 commits and 1 a reopening."""
        match self.chance.randrange(100):
            case 0:
                self.reopen()
            case 1 | 2 | 3:
                self.version += 1
                self.index.add_documents([self._document(self.chance.randrange(DOCUMENTS))])
                if self.version % 50 == 0:
                    self.index.gc(contexts=True)
            case _:
                query = self.chance.choice(QUERIES)
                assert self.index.search(query.text, legs=query.legs, k=5).notes == ()

    def reopen(self) -> None:
        """Close the index, with the connections of the threads that have searched, and open it."""
        self.index.close()
        self.index = crx.open(self.folder, create=False)

    def _document(self, number: int) -> crx.Document:
        paragraphs = 2 if number % LONG else 5
        text = corpus.text(number, paragraphs=paragraphs, version=self.version)
        return crx.Document(f"mem:{number}", text)


def live(
    life: Life, operations: int, effort: Effort, after_each: Callable[[], object] = int
) -> tuple[Use, Use]:
    """Do operations; return what was used after the first ones and what is used at the end.

    What is used in between is noted.
    """
    for _ in range(WARM_UP):
        life.step()
    life.reopen()
    before = Use.now(life.folder)
    effort.notes.append(f"at first {before.describe()}")
    for done in range(1, operations + 1):
        life.step()
        after_each()
        effort.done = done
        if done % max(1, operations // MEASUREMENTS) == 0:
            effort.notes.append(f"after {done} {Use.now(life.folder).describe()}")
    life.reopen()
    return before, Use.now(life.folder)


def require_flat(before: Use, after: Use, *, operations: int) -> None:
    assert after.descriptors == pytest.approx(before.descriptors, abs=4)
    # The allocator takes some megabytes more in its own time, however short the run.
    assert after.memory - before.memory < 24 * MB + MB * operations / 100_000


@needs_proc
def test_memory_descriptors_and_disk_stay_flat(effort: Effort, tmp_path: Path) -> None:
    life = Life(tmp_path / "notes.crx", effort.chance)
    operations = effort.runs(quick=300, full=1_000_000)
    before, after = live(life, operations, effort)
    life.index.close()
    require_flat(before, after, operations=operations)
    assert after.disk < 2.2 * live_bytes(life.folder)


@needs_proc
def test_the_harness_finds_a_leak(effort: Effort, tmp_path: Path) -> None:
    leak: list[bytes] = []
    life = Life(tmp_path / "notes.crx", effort.chance)
    before, after = live(life, 100, effort, after_each=lambda: leak.append(b"x" * (2 * MB)))
    with pytest.raises(AssertionError):
        require_flat(before, after, operations=100)


def live_bytes(folder: Path) -> int:
    """Return the size of an index with the same documents that was made at once."""
    fresh = folder.with_name("fresh.crx")
    with crx.open(folder) as index, crx.open(fresh, settings=SETTINGS) as made:
        store = index.store
        made.add_documents(
            [crx.Document(row.uri, store.text(row.doc)) for row in store.documents()]
        )
    size = Use.now(fresh).disk
    shutil.rmtree(fresh)
    return size
