"""Rows that damage hides from SQLite: a search says so, and answers nothing else in silence."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

import crx
from crx.errors import Damaged

LINES = [f"Heron {n} eats fish at the river bend." for n in range(6)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "notes.crx"
    with crx.open(path, settings={"embedder": "hashed", "chunk_chars": 40}) as index:
        index.add_documents([crx.Document("mem:long", "\n\n".join(LINES))])
        index.add_documents([crx.Document("mem:short", "A stork.")])
    return path


def change(folder: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(folder / "crx.db")) as db:
        db.execute(sql)
        db.commit()


def test_a_chunk_that_a_leg_finds_and_the_store_lacks_is_damage(folder: Path) -> None:
    change(folder, "DELETE FROM chunk WHERE ordinal = 2")
    with crx.open(folder) as index, pytest.raises(Damaged, match=r"notes\.crx: chunk 3 is missing"):
        index.search("2", legs=["bm25"])


def test_a_document_that_is_missing_is_damage(folder: Path) -> None:
    change(folder, "DELETE FROM document WHERE uri = 'mem:short'")
    with crx.open(folder) as index, pytest.raises(Damaged, match="have 6 chunks, and BM25 has 7"):
        index.search("heron")


def test_a_neighbour_that_is_missing_is_damage(folder: Path) -> None:
    change(folder, "DELETE FROM chunk WHERE ordinal = 3")
    with crx.open(folder) as index, pytest.raises(Damaged, match="document 1 lacks rows"):
        index.search("2", legs=["bm25"], k=1)


def test_a_neighbour_beyond_the_window_is_not_read(folder: Path) -> None:
    change(folder, "DELETE FROM chunk WHERE ordinal = 5")
    with crx.open(folder) as index:
        assert index.search("1", legs=["bm25"], k=1, window=1).hits


def test_neighbours_are_read_whose_keys_do_not_follow_each_other(folder: Path) -> None:
    changed = [*LINES[:3], "A new line on herons.", *LINES[3:]]
    with crx.open(folder) as index:
        index.add_documents([crx.Document("mem:long", "\n\n".join(changed))])
        (document,) = (row for row in index.store.documents() if row.uri == "mem:long")
        keys = index.store.chunk_keys(document.doc).tolist()
        assert keys != list(range(keys[0], keys[0] + 7))
        for number in range(6):
            (passage,) = index.search(f"Heron {number}", legs=["bm25"], k=1, window=6)
            assert passage.text == "\n\n".join(changed)


def test_a_damaged_row_does_not_escape_a_filter(folder: Path) -> None:
    change(folder, "UPDATE document SET uri = 'mem:zhort' WHERE uri = 'mem:short'")
    with crx.open(folder) as index, pytest.raises(Damaged, match="document 2 does not match its"):
        index.search("heron stork", where={"uri": ["mem:long", "mem:short"]})


def test_bm25_does_not_take_a_damaged_document_for_one_that_was_removed(folder: Path) -> None:
    change(folder, "DELETE FROM document WHERE uri = 'mem:long'")
    with crx.open(folder) as index, pytest.raises(Damaged, match="document 1 lacks rows"):
        index.rebuild()
