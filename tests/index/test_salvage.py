"""What is intact in a damaged index is taken out of it, and nothing else."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from crx_process import CrxHere, make_folders

import crx
from crx._index.handle import Index
from crx._index.salvage import Salvaged, salvage_index
from crx.errors import Damaged, NotAnIndex, UsageError
from crx.types import Document, Verification

PAGE = 4096
SETTINGS = {"embedder": "hashed", "reranker": ""}
DOCUMENTS = 30
QUERIES = ("krill 3", "herons of lake 7", "tides", "entry 900 of the log")

Damage = Callable[[bytearray], None]


def documents() -> list[Document]:
    """Short notes, and a log whose text and marks are longer than a page of the database."""
    notes = [
        Document(
            f"mem:{n}",
            "".join(
                f"Krill {n} and herons of lake {n} rest on day {day} while tides turn. " * 8
                for day in range(5)
            ),
            title=f"Note {n}",
            lang="en",
        )
        for n in range(DOCUMENTS)
    ]
    log = "".join(f"# Day {n}\n\nEntry {n} of the log: sea calm.\n\n" for n in range(1500))
    return [*notes, Document("mem:log", log, title="Log", lang="en")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with contexts, from which documents were removed."""
    folder = tmp_path_factory.mktemp("salvage") / "notes.crx"
    with crx.open(folder, settings=SETTINGS) as index:
        gone = [Document(f"mem:gone{n}", "Auks nest here. " * 400, title="") for n in range(20)]
        index.add_documents([*gone, *documents()])
        index.contextualize("fake:")
        index.remove(*(each.uri for each in gone))
        index.gc()
    return folder


@pytest.fixture
def damaged(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "damaged.crx")
    return tmp_path / "damaged.crx"


def change(folder: Path, damage: Damage) -> None:
    content = bytearray((folder / "crx.db").read_bytes())
    damage(content)
    (folder / "crx.db").write_bytes(content)


def salvage(source: Path) -> tuple[Salvaged, Path]:
    """Salvage an index, whose files must stay as they are."""
    before = {path: path.read_bytes() for path in source.rglob("*") if path.is_file()}
    target = source.with_name("salvaged.crx")
    found = salvage_index(source, target, settings={"embedder": "hashed"})
    assert before == {path: path.read_bytes() for path in source.rglob("*") if path.is_file()}
    return found, target


def texts(index: Index) -> dict[str, str]:
    return {row.uri: index.store.text(row.doc) for row in index.store.documents()}


def contexts(index: Index) -> dict[tuple[str, int], str]:
    rows = index.store.documents()
    chunks = [
        chunk for row in rows for chunk in index.store.chunks(index.store.chunk_keys(row.doc))
    ]
    return {(chunk.uri, chunk.start): chunk.context for chunk in chunks if chunk.context}


def answers(index: Index, queries: Sequence[str] = QUERIES) -> list[set[tuple[str, str]]]:
    found = [index.search(query, k=3).passages for query in queries]
    return [{(each.uri, each.text) for each in passages} for passages in found]


def zero_pages(every: int) -> Damage:
    def damage(content: bytearray) -> None:
        for page in range(every, len(content) // PAGE, every):
            content[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)

    return damage


def tear_pages(content: bytearray) -> None:
    rng = random.Random(5)
    for page in range(3, len(content) // PAGE, 6):
        at = page * PAGE + 512 * rng.randrange(8)
        content[at : at + 512] = rng.randbytes(512)


def truncate(content: bytearray) -> None:
    del content[len(content) // 2 + 100 :]


def overwrite_header(content: bytearray) -> None:
    content[:PAGE] = b"not a database " * (PAGE // 15) + bytes(PAGE % 15)


DAMAGE: dict[str, Damage] = {
    "every 40th page is zero": zero_pages(40),
    "every 4th page is zero": zero_pages(4),
    "sectors are torn": tear_pages,
    "half of the file is gone": truncate,
    "the header is overwritten": overwrite_header,
}


def test_an_intact_index_is_taken_whole(whole: Path, damaged: Path) -> None:
    found, target = salvage(damaged)
    assert found.is_whole
    with crx.open(whole, create=False) as before, crx.open(target, create=False) as after:
        assert texts(after) == texts(before)
        assert contexts(after) == contexts(before)
        assert answers(after) == answers(before)
        assert dict(after.settings) == dict(before.settings)
        assert after.store.stats()["pending"] == 0
        assert after.store.verify() == []


def test_a_database_cut_after_its_first_pages_is_never_whole(damaged: Path) -> None:
    content = (damaged / "crx.db").read_bytes()
    documents_found: list[int] = []
    for pages in range(1, 30):
        (damaged / "crx.db").write_bytes(content[: pages * PAGE])
        try:
            found, target = salvage(damaged)
        except Damaged:
            continue
        shutil.rmtree(target)
        assert not found.is_whole
        documents_found.append(found.documents + found.documents_in_part + found.documents_lost)
    assert 0 in documents_found, "no page of settings came before those of documents"


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_taken_is_as_it_was(whole: Path, damaged: Path, name: str) -> None:
    change(damaged, DAMAGE[name])
    found, target = salvage(damaged)
    with crx.open(whole, create=False) as before, crx.open(target, create=False) as after:
        assert after.store.verify() == []
        originals, kept = texts(before), texts(after)
        assert kept.keys() <= originals.keys()
        assert len(kept) == found.documents + found.documents_in_part > 0
        for uri, text in kept.items():
            pairs = zip(text, originals[uri], strict=False)
            assert all(a in (b, "\ufffd") for a, b in pairs), uri
        assert sum(kept[uri] == originals[uri] for uri in kept) >= found.documents
        assert contexts(after).items() <= contexts(before).items()
        known = found.documents + found.documents_in_part + found.documents_lost
        assert known <= len(originals) or found.removed_may_be_back
        assert not found.is_whole or name == "the header is overwritten"


def test_after_a_lost_header_all_answers_are_the_same(whole: Path, damaged: Path) -> None:
    change(damaged, overwrite_header)
    with pytest.raises(Damaged):
        crx.open(damaged, create=False)
    found, target = salvage(damaged)
    assert found.removed_may_be_back
    assert found.documents == DOCUMENTS + 1
    with crx.open(whole, create=False) as before, crx.open(target, create=False) as after:
        assert answers(after) == answers(before)
        assert contexts(after) == contexts(before)


def test_what_was_lost_is_read_again_and_contexts_are_kept(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for each in documents()[:DOCUMENTS]:
        (docs / f"{each.title}.md").write_text(each.text)
    with crx.open(tmp_path / "i.crx", settings=SETTINGS) as index:
        index.add(docs)
        index.contextualize("fake:")
        # Every note has "tides": those that are read again have other keys, which decide.
        queries = [query for query in QUERIES if query != "tides"]
        expected = answers(index, queries), contexts(index)
        tides = {each.uri for each in index.search("tides", k=200).hits}
        assert len(tides) == DOCUMENTS
    change(tmp_path / "i.crx", zero_pages(9))
    found, target = salvage(tmp_path / "i.crx")
    assert found.documents_in_part + found.documents_lost > 0
    with crx.open(target, create=False) as index:
        index.add(docs)
        made = index.contextualize("fake:").made.get("ok", 0)
        assert (answers(index, queries), contexts(index)) == expected
        assert {each.uri for each in index.search("tides", k=200).hits} == tides
        assert index.verify() == Verification((), ())
    assert made <= len(expected[1]) - found.contexts


def test_commits_that_are_only_in_the_log_are_taken(damaged: Path, tmp_path: Path) -> None:
    index = crx.open(damaged, create=False)
    index.add_documents([Document("mem:new", "Puffins dig burrows.")])
    index.store.begin_read()  # a reader keeps the log
    with crx.open(damaged, create=False) as writer:
        writer.add_documents([Document("mem:newest", "Gannets dive.")])
        shutil.copytree(damaged, tmp_path / "copy.crx")
    index.close()
    assert (tmp_path / "copy.crx" / "crx.db-wal").stat().st_size > 0
    _, target = salvage(tmp_path / "copy.crx")
    with crx.open(target, create=False) as after:
        assert {"mem:new", "mem:newest"} <= texts(after).keys()


def test_an_index_with_a_trigger_is_refused_and_can_be_salvaged(damaged: Path) -> None:
    with closing(sqlite3.connect(damaged / "crx.db")) as db:
        db.execute("CREATE TRIGGER t AFTER DELETE ON derived BEGIN DELETE FROM context; END")
        db.commit()
    found, target = salvage(damaged)
    assert found.is_whole
    with crx.open(target, create=False) as index:
        assert len(texts(index)) == DOCUMENTS + 1


def test_without_an_intact_row_nothing_is_made(damaged: Path, tmp_path: Path) -> None:
    change(damaged, zero_pages(1))
    change(damaged, overwrite_header)
    with pytest.raises(Damaged, match=r"crx\.db has no intact row"):
        salvage_index(damaged, tmp_path / "new.crx", settings=SETTINGS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.crx"]


def test_a_folder_that_is_not_empty_is_not_written_to(damaged: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exists already"):
        salvage_index(damaged, tmp_path, settings=SETTINGS)
    with pytest.raises(NotAnIndex, match=r"crx\.db: no such file"):
        salvage_index(tmp_path, tmp_path / "new.crx", settings=SETTINGS)


def test_the_command_tells_what_was_lost(
    damaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work, _ = make_folders(tmp_path)
    command = CrxHere(work, capsys)
    done = command("salvage", "whole.crx", "--index", damaged)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"whole.crx: {DOCUMENTS + 1} documents, 0 in part, ")
    change(damaged, zero_pages(4))
    done = command("salvage", "part.crx", "--index", damaged)
    assert done.code == 3
    assert "\nlost: " in done.out
    assert "reads what was lost from the files again" in done.err
    assert command("salvage", "part.crx", "--index", damaged).code == 2
