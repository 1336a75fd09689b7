"""An index from elsewhere: no SQL in its schema runs, and another schema than crx's is refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import crx
from crx._context.report import compute_coverage
from crx.errors import Damaged, Incompatible, IndexFailure
from crx.types import Document

HOSTILE = {
    "a trigger": (
        "CREATE TRIGGER t AFTER INSERT ON document BEGIN DELETE FROM context; END",
        'has the trigger "t", which crx does not create',
    ),
    "a view": ("CREATE VIEW v AS SELECT 1", 'has the view "v"'),
    "another view of the same name": (
        "DROP VIEW reading; CREATE VIEW reading AS SELECT load_extension('x')",
        'has another view "reading" than crx creates',
    ),
    "a view in place of a table": (
        "ALTER TABLE failure RENAME TO f; CREATE VIEW failure AS SELECT * FROM f",
        'has the table "f"',
    ),
    "a generated column": (
        "ALTER TABLE setting ADD COLUMN g TEXT AS (value || hex(name))",
        'has another table "setting" than crx creates',
    ),
    "a column more": ("ALTER TABLE chunk ADD COLUMN c TEXT", 'has another table "chunk"'),
    "an index of an expression": (
        "CREATE INDEX i ON document (json_extract(metadata, '$.x'))",
        'has the index "i"',
    ),
    "a table more": ("CREATE TABLE extra (x)", 'has the table "extra"'),
    "a virtual table": ("CREATE VIRTUAL TABLE ft USING fts5(x)", "has the table "),
    "an index less": ("DROP INDEX change_seq", 'lacks the index "change_seq"'),
    "a table less": ("DROP TABLE failure", 'lacks the table "failure"'),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with crx.open(tmp_path / "i.crx", settings={"embedder": "hashed", "reranker": ""}) as index:
        index.add_documents([Document("mem:1", "Blue whales eat krill.")])
    return tmp_path / "i.crx"


def execute(folder: Path, sql: str) -> None:
    with closing(sqlite3.connect(folder / "crx.db")) as db:
        db.executescript(sql)
        db.commit()


@pytest.mark.parametrize("name", HOSTILE)
def test_another_schema_is_refused_by_readers_and_writers(folder: Path, name: str) -> None:
    with crx.open(folder, create=False) as index:
        sql, message = HOSTILE[name]
        execute(folder, sql)
        with (
            pytest.raises(Incompatible, match="crx salvage") as raised,
            crx.open(folder, create=False),
        ):
            pass
        assert message in str(raised.value)
        with pytest.raises(Incompatible):
            index.add_documents([Document("mem:2", "Herons eat fish.")])


def test_statistics_of_another_program_are_allowed(folder: Path) -> None:
    execute(folder, "ANALYZE")
    with crx.open(folder, create=False) as index:
        index.add_documents([Document("mem:2", "Herons eat fish.")])
        assert index.verify().faults == ()


def test_a_schema_that_does_not_parse_is_refused(folder: Path) -> None:
    execute(
        folder,
        "PRAGMA writable_schema = ON;"
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE setting (' WHERE name = 'setting'",
    )
    with pytest.raises(IndexFailure), crx.open(folder, create=False):
        pass


def test_a_row_that_claims_to_be_huge_takes_no_memory(folder: Path) -> None:
    """The first varint of each cell is its length: 16 GB in place of a few bytes."""
    content = bytearray((folder / "crx.db").read_bytes())
    leaves = [at for at in range(4096, len(content), 4096) if content[at] == 0x0D]
    assert leaves
    for leaf in leaves:
        for cell in range(int.from_bytes(content[leaf + 3 : leaf + 5], "big")):
            pointer = leaf + 8 + 2 * cell
            at = leaf + int.from_bytes(content[pointer : pointer + 2], "big")
            content[at : at + 6] = b"\xbf\xff\xff\xff\xff\x7f"
    (folder / "crx.db").write_bytes(content)
    with pytest.raises(Damaged), crx.open(folder, create=False) as index:
        index.search("krill")


@pytest.mark.parametrize("name", ["embedder", "contexts"])
def test_an_index_without_a_setting_that_every_index_has_is_damaged(
    folder: Path, name: str
) -> None:
    execute(folder, f"DELETE FROM setting WHERE name = '{name}'")
    with pytest.raises(Damaged, match=f"lacks its setting {name}"), crx.open(folder, create=False):
        pass


def test_an_index_without_the_setting_of_a_budget_has_that_of_a_new_one(folder: Path) -> None:
    execute(folder, "DELETE FROM setting WHERE name LIKE 'chunk_%'")
    with crx.open(folder, create=False) as index:
        assert index.add_documents([Document("mem:2", "Herons eat fish.")]).added == 1


def test_an_outcome_of_a_context_that_no_version_writes_counts_as_no_context() -> None:
    known = {"chunks": 2, "outcome:ok": 1}
    assert compute_coverage({**known, "outcome:xx": 1}) == compute_coverage(known) == 0.5
