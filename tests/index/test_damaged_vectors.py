"""Searches in an index with a damaged vector, and its repair."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

import crx
from crx._backends.hashed import HashedEmbedder
from crx._cli import run
from crx.types import Leg, Verification

DOCUMENTS = [
    crx.Document(name, f"The {name} nests in the {place}.")
    for name, place in (("heron", "marsh"), ("egret", "estuary"), ("crane", "meadow"))
]
NOTE = (
    "egret: the vector of chunk 0 is damaged, so only BM25 finds this chunk; "
    "`crx verify` embeds it again"
)


def damage_vector(folder: Path, uri: str) -> None:
    """Flip the bits of a byte in the vector of a document's first chunk."""
    with sqlite3.connect(folder / "crx.db") as db:
        (key, data) = db.execute(
            "SELECT key, data FROM vector JOIN chunk ON vector_key = key "
            "JOIN document USING (doc) WHERE uri = ? AND ordinal = 0",
            [uri],
        ).fetchone()
        damaged = bytes([data[0] ^ 0xFF]) + data[1:]
        db.execute("UPDATE vector SET data = ? WHERE key = ?", [damaged, key])
    db.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make an index with a damaged vector that is not in a published file of vectors."""
    folder = tmp_path / "notes.crx"
    with crx.open(folder, settings={"embedder": "hashed"}) as index:
        index.add_documents(DOCUMENTS)
    damage_vector(folder, "egret")
    for path in (folder / "derived").glob("vectors-*"):
        path.unlink()
    return folder


def found(index: crx.Index, *, legs: Sequence[Leg]) -> list[str]:
    return sorted(hit.uri for hit in index.search("where does it nest?", legs=legs).hits)


def test_a_damaged_vector_is_left_out_of_the_dense_leg_and_named(folder: Path) -> None:
    with crx.open(folder) as index:
        assert NOTE in index.search("nests").notes
        assert found(index, legs=("bm25",)) == ["crane", "egret", "heron"]
        assert found(index, legs=("dense",)) == ["crane", "heron"]
        index.add_documents([crx.Document("stork", "The stork nests on roofs.")])
        assert found(index, legs=("dense",)) == ["crane", "heron", "stork"]
    with crx.open(folder) as index:
        assert NOTE in index.search("nests").notes


def test_verify_embeds_the_chunk_of_a_damaged_vector_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded: list[str] = []
    embed = HashedEmbedder.embed

    def record(self: HashedEmbedder, texts: Sequence[str], *, query: bool = False) -> object:
        embedded.extend([] if query else texts)
        return embed(self, texts, query=query)

    monkeypatch.setattr(HashedEmbedder, "embed", record)
    with crx.open(folder) as index:
        verified = index.verify()
        assert verified.faults == ()
        assert "egret: the vector of chunk 0 was damaged; embedded again" in verified.repaired
        assert len(embedded) == 1
        assert found(index, legs=("dense",)) == ["crane", "egret", "heron"]
        assert index.search("nests").notes == ()
        assert index.verify() == Verification((), ())


def test_search_and_verify_of_a_damaged_vector_exit_with_0(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", "egret", "--index", str(folder)]) == 0
    assert "the vector of chunk 0 is damaged" in capsys.readouterr().err
    assert run(["verify", "--index", str(folder)]) == 0
    assert "embedded again" in capsys.readouterr().out
    assert run(["search", "egret", "--index", str(folder)]) == 0
    assert capsys.readouterr().err == ""
