"""Damaged index folders: the damage is found, and healed or refused; no answer changes silently."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fault_injection import corpus
from fault_injection.damage import copy_folder, damage
from fault_injection.effort import Effort
from fault_injection.processes import Ended, call

import crx
from crx.errors import CrxError

DOCUMENTS = 24


def make_index(folder: Path, *, ann_above: int) -> None:
    """Make an index with contexts, and with edits after its derived files."""
    settings = {**corpus.SETTINGS, "ann_above": ann_above}
    documents = [crx.Document(f"mem:{n}", corpus.text(n)) for n in range(DOCUMENTS)]
    with crx.open(folder, settings=settings) as index:
        index.add_documents(documents)
        index.contextualize("fake:")
        for number in (3, 4):
            index.add_documents([crx.Document(f"mem:{number}", corpus.text(number, version=1))])


def edit_and_die(folder: Path) -> None:
    """Commit a change, and end without closing the index: the change is in the log alone."""
    index = crx.open(folder)
    with index._open_folder().writing() as writer:
        writer.store.remove_documents(["mem:5"])
        os._exit(0)


def examine(folder: Path, before: Callable[[], object] | None = None) -> dict[str, Any]:
    """Return the replies of an index, what `verify` says, and the replies after it."""
    if before is not None:
        before()
    found: dict[str, Any] = {"replies": [], "faults": [], "repaired": [], "healed": []}
    try:
        with crx.open(folder, create=False) as index:
            replies = corpus.ask_all(index)
            found["replies"] = [[each.shown, each.said] for each in replies]
            verified = index.verify()
            found["faults"], found["repaired"] = verified.faults, verified.repaired
            noted = verified.repaired or any(reply.said for reply in replies)
            if noted and not verified.faults:
                found["healed"] = [[each.shown, each.said] for each in corpus.ask_all(index)]
    except CrxError as error:
        found["refused"] = f"{type(error).__name__}: {error}"
    return found


@dataclass(frozen=True, slots=True)
class Folder:
    """An undamaged index folder, and its replies in the committed states that it may be in.

    The first is the last commit. The one before counts only where the log is damaged: what follows
    the damage in a log looks as if it had never been written.
    """

    path: Path
    oracles: list[list[str]]


def replies_of(folder: Path) -> list[str]:
    """Return the replies of an index, asked in a copy of it, and require that none has a note."""
    copy = folder.with_name("copy")
    copy_folder(folder, copy)
    replies = call(partial(examine, copy), folder=folder.parent).value["replies"]
    shutil.rmtree(copy)
    assert [said for _, said in replies if said] == []
    return [shown for shown, _ in replies]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Folder]:
    """A closed index, one with a graph, and one whose writer was killed."""
    top = tmp_path_factory.mktemp("undamaged")
    closed, graph, killed = (top / f"{name}.crx" for name in ("closed", "graph", "killed"))
    for path, ann_above in ((closed, 10**6), (graph, 64)):
        assert call(partial(make_index, path, ann_above=ann_above), folder=top).code == 0
    copy_folder(graph, killed)
    assert call(partial(edit_and_die, killed), folder=top).code == 0
    before = replies_of(graph)
    return [
        Folder(closed, [replies_of(closed)]),
        Folder(graph, [before]),
        Folder(killed, [replies_of(killed), before]),
    ]


def judge(ended: Ended, oracles: list[list[str]]) -> str:
    """Return what became of the damage; raises `AssertionError` if it did harm."""
    assert ended.code >= 0, f"killed by signal {-ended.code}"
    assert ended.code == 0, ended.output[-2000:]
    found = ended.value
    silent = [changes(found["replies"], oracle) for oracle in oracles]
    assert [] in silent, f"queries {silent[0]} changed silently"
    if "refused" in found or found["faults"]:
        return "refused"
    state = silent.index([])
    if state:
        return "as of the commit before"
    if not found["healed"]:
        return "harmless"
    if lost := [at for at, (shown, _) in enumerate(found["healed"]) if shown != oracles[0][at]]:
        told = [line for line in found["repaired"] if "lost" in line or "older" in line]
        assert told, f"queries {lost} differ after a repair"
        return "accepted with a loss that was told"
    assert not [said for _, said in found["healed"] if said], found["healed"]
    return "healed"


def changes(replies: list[list[str]], oracle: list[str]) -> list[int]:
    """Return the queries with another answer and no note."""
    return [at for at, (shown, said) in enumerate(replies) if shown != oracle[at] and not said]


def test_damage_is_found_and_healed_or_refused(
    folders: list[Folder], effort: Effort, tmp_path: Path
) -> None:
    chance = effort.chance
    harm = []
    for _ in range(effort.runs(quick=30, full=10_000)):
        folder = chance.choice(folders)
        copy = tmp_path / "i.crx"
        copy_folder(folder.path, copy)
        what = damage(copy, chance)
        oracles = folder.oracles if "crx.db-wal" in what else folder.oracles[:1]
        try:
            effort.outcomes[judge(call(partial(examine, copy), folder=tmp_path), oracles)] += 1
        except (AssertionError, TimeoutError) as failed:
            harm.append(f"{folder.path.name}: {what}: {failed}")
            effort.notes.append(harm[-1][:400])
        shutil.rmtree(copy)
        effort.done += 1
    assert not harm, "\n".join(harm)


def drop_notes() -> None:
    """Plant a fault: searches do not tell what they lack."""
    search = crx.Index.search

    def search_silently(self: crx.Index, query: str, **options: Any) -> crx.Result:
        return replace(search(self, query, **options), notes=())

    crx.Index.search = search_silently  # type: ignore[method-assign, assignment]


def test_the_harness_finds_answers_that_change_silently(
    folders: list[Folder], tmp_path: Path
) -> None:
    copy = tmp_path / "i.crx"
    copy_folder(folders[0].path, copy)
    shutil.rmtree(copy / "derived")
    with contextlib.closing(sqlite3.connect(copy / "crx.db")) as db:
        db.execute("UPDATE vector SET data = zeroblob(length(data))")
        db.commit()
    ended = call(partial(examine, copy, before=drop_notes), folder=tmp_path)
    with pytest.raises(AssertionError, match="changed silently"):
        judge(ended, folders[0].oracles)


def test_a_file_of_another_segment_is_noticed(folders: list[Folder], tmp_path: Path) -> None:
    copy = tmp_path / "i.crx"
    copy_folder(folders[0].path, copy)
    postings = sorted(
        (copy / "derived" / "bm25").glob("*.idx"), key=lambda path: path.stat().st_size
    )
    small, large = postings[0].read_bytes(), postings[-1].read_bytes()
    assert small != large
    postings[0].write_bytes(large)
    postings[-1].write_bytes(small)
    judge(call(partial(examine, copy), folder=tmp_path), folders[0].oracles)
