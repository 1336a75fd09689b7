"""Losses of power: at any moment, what was committed is there, and the rest is resumed.

The file operations of a run are recorded with `strace`. After each prefix of them, a disk may hold
what was not synced, or not, or some of its sectors, or zeros in its place.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fault_injection import corpus
from fault_injection.archived import unarchived
from fault_injection.disk import LOSSES, Disk
from fault_injection.effort import Effort
from fault_injection.processes import call
from fault_injection.recording import Operation, record
from fault_injection.workload import DOCUMENTS, EDITED, PARAGRAPHS, REMOVED

import crx
from crx.errors import NotAnIndex
from crx.types import LEGS, Leg

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")

SUPPORT = str(Path(__file__).parent.parent / "support")
PYTHON = str(Path(crx.__file__).parent.parent)
QUERIES = corpus.queries()[:5]
# Of a search of one leg: URI, start and score of each hit.
Scores = list[list[Any]]
# Of so many states one is resumed.
RESUMED = 4


@dataclass(frozen=True, slots=True)
class Committed:
    """What had been reported as committed: documents by URI, and chunks with a context."""

    created: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)
    contexts: frozenset[str] = frozenset()

    def after(self, mark: Sequence[str]) -> Committed:
        """Return what is committed after a mark."""
        kind, what = mark
        match kind:
            case "document":
                uri, text = json.loads(what)
                return replace(self, created=True, texts={**self.texts, uri: text})
            case "removed":
                left = {uri: text for uri, text in self.texts.items() if uri != what}
                return replace(self, texts=left)
            case "context":
                return replace(self, contexts=self.contexts | {what})
            case _:
                return replace(self, created=True)


@dataclass(frozen=True, slots=True)
class Recording:
    """The file operations and the marks of a run, and the scores of an index without a crash."""

    operations: list[Operation]
    expected: list[Scores]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """The recording of a short life of an index."""
    top = tmp_path_factory.mktemp("recorded")
    index, marks = top / "i.crx", top / "marks.txt"
    arguments = ["-m", "fault_injection.workload", str(index), str(marks)]
    environ = {"PYTHONPATH": f"{PYTHON}:{SUPPORT}"}
    recorded = record(arguments, folder=index, marks=marks, environ=environ)
    assert sum(each.kind == "sync" for each in recorded) > 50
    finished = call(partial(finish, top / "new.crx"), folder=top)
    return Recording(recorded, finished.value)


def states_of(operations: Sequence[Operation]) -> list[tuple[Committed, Committed]]:
    """Return what is committed before each operation, and what the next mark adds."""
    marks = [json.loads(each.data) for each in operations if each.kind == "mark"]
    reached = [Committed()]
    for mark in marks:
        reached.append(reached[-1].after(mark))
    states = []
    seen = 0
    for each in operations:
        seen += each.kind == "mark"
        states.append((reached[seen], reached[min(seen + 1, len(marks))]))
    return states


def check(
    folder: Path, committed: Committed, following: Committed, *, expected: list[Scores]
) -> list[str]:
    """Return what is wrong with an index after a loss of power.

    Scores that are expected are compared with those of the finished index.
    """
    try:
        index = crx.open(folder, create=False)
    except NotAnIndex:
        return ["no index"] if committed.created else []
    with index:
        faults = [*index.verify().faults, *_compare(index, committed, following)]
        pending = "until they have their vector"
        notes = index.search("heron nests").notes
        empty = "the index holds no documents"
        faults += [
            note
            for note in notes
            if pending not in note and (len(index.store.documents()) or empty not in note)
        ]
    if expected and not faults and finish(folder) != expected:
        faults.append("finished, it answers otherwise than a new index")
    return faults


def _compare(index: crx.Index, committed: Committed, following: Committed) -> list[str]:
    store = index.store
    rows = store.documents()
    texts = {row.uri: store.text(row.doc) for row in rows}
    if texts not in (committed.texts, following.texts):
        return [f"documents {sorted(texts)} instead of {sorted(committed.texts)}"]
    chunks = [row for each in rows for row in store.chunks(store.chunk_keys(each.doc))]
    lost = [row.text for row in chunks if row.text in committed.contexts and not row.context]
    return [f"contexts of {len(lost)} chunks are lost"] if lost else []


def finish(folder: Path) -> list[Scores]:
    """Do the rest of the run, or all of it; return the scores that searches give.

    Equal scores go to the smaller key, and keys depend on the order of edits: scores are compared.
    """
    with crx.open(folder, settings=corpus.SETTINGS) as index:
        index.add_documents(_final_documents())
        index.remove(f"mem:{REMOVED}")
        index.contextualize("fake:")
        assert unarchived(index) == []
        return [_scores(index, each.text, leg) for each in QUERIES for leg in LEGS]


def _scores(index: crx.Index, query: str, leg: Leg) -> Scores:
    hits = index.search(query, k=100, legs=[leg]).hits
    return sorted([hit.uri, hit.start, hit.stages[leg].score] for hit in hits)


def _final_documents() -> list[crx.Document]:
    return [
        crx.Document(
            f"mem:{number}",
            corpus.text(number, paragraphs=PARAGRAPHS, version=int(number == EDITED)),
        )
        for number in range(DOCUMENTS + 1)
        if number != REMOVED
    ]


def lose_power(
    recording: Recording, effort: Effort, tmp_path: Path, *, runs: int, sync: bool = True
) -> list[str]:
    """Rebuild the disk after random prefixes; return what is wrong with each."""
    chance = effort.chance
    operations = recording.operations
    states = states_of(operations)
    moments = Counter(chance.randrange(len(operations)) for _ in range(runs))
    disk = Disk(sync=sync)
    harm = []
    for at, operation in enumerate(operations):
        disk.apply(operation)
        for _ in range(moments[at]):
            folder = tmp_path / "after.crx"
            loss = chance.choice(LOSSES)
            disk.write_to(folder, loss, chance)
            expected = recording.expected if effort.done % RESUMED == 0 else []
            work = partial(check, folder, *states[at], expected=expected)
            ended = call(work, folder=tmp_path)
            effort.done += 1
            if ended.code or ended.value:
                fault = ended.value or ended.output[-1500:]
                harm.append(f"{loss} after {at} ({operation.kind} {operation.path}): {fault}")
                if sync:
                    effort.notes.append(harm[-1][:400])
            shutil.rmtree(folder)
    return harm


def test_what_was_committed_survives_a_loss_of_power(
    recording: Recording, effort: Effort, tmp_path: Path
) -> None:
    runs = effort.runs(quick=30, full=5000)
    effort.notes.append(f"{len(recording.operations)} operations recorded")
    harm = lose_power(recording, effort, tmp_path, runs=runs)
    assert not harm, "\n".join(harm)


def test_the_harness_finds_a_store_without_syncs(
    recording: Recording, effort: Effort, tmp_path: Path
) -> None:
    runs = effort.runs(quick=16, full=500)
    harm = lose_power(recording, effort, tmp_path, runs=runs, sync=False)
    effort.notes.append(f"{len(harm)} of {runs} states are lost without syncs")
    assert len(harm) > runs // 4
