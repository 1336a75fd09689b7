"""An index whose creation lost its power before the first commit of the database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import crx
from crx._cli import run
from crx.errors import NotAnIndex

SETTINGS = {"embedder": "hashed"}


def leave_journal(folder: Path) -> None:
    """Leave a database in the middle of a transaction, with its rollback journal."""
    database, journal = folder / "crx.db", folder / "crx.db-journal"
    db = sqlite3.connect(database, isolation_level=None)
    db.execute("PRAGMA journal_mode = DELETE")
    db.execute("PRAGMA cache_size = 1")
    db.execute("BEGIN")
    db.execute("CREATE TABLE filler (text)")
    db.executemany("INSERT INTO filler VALUES (?)", [["x" * 4000]] * 100)
    half = database.read_bytes(), journal.read_bytes()
    db.execute("ROLLBACK")
    db.close()
    database.write_bytes(half[0])
    journal.write_bytes(half[1])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes.crx"
    folder.mkdir()
    return folder


def test_it_is_no_index_for_a_reader(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leave_journal(folder)
    with pytest.raises(NotAnIndex, match="its creation was interrupted; `crx index PATH"):
        crx.open(folder, create=False)
    assert run(["search", "krill", "--index", str(folder)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_index_keeps_its_settings(folder: Path) -> None:
    with crx.open(folder, settings={**SETTINGS, "chunk_chars": 120}) as index:
        index.add_documents([crx.Document("mem:1", "Herons eat fish.")])
    leave_journal(folder)
    with crx.open(folder, settings=SETTINGS) as index:
        assert index.settings["chunk_chars"] == "120"
        assert index.store.stats()["documents"] == 1
