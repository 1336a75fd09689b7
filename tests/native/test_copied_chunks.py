"""Copies among chunks: those of the store are compared where they are, others by their fields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import crx
from crx import _native
from crx.types import Document

LICENCE = (
    "Permission is granted free of charge to any person who obtains a copy of this software to "
    "deal in it without restriction and without limitation of the right to use or to sell it."
)
OWN = "Whales eat four tonnes of krill on each day of the summer and almost none in the winter."


@dataclass(frozen=True)
class Chunk:
    """A chunk that is not of the native store."""

    key: int
    uri: str
    title: str
    text: str
    outline: str = ""
    context: str = ""


@pytest.mark.parametrize(
    ("query", "copies"), [("licence", {1: (3,), 2: ()}), ("curl", {1: (), 2: (), 3: ()})]
)
def test_chunks_of_the_store_and_others_copy_the_same(
    tmp_path: Path, query: str, copies: dict[int, tuple[int, ...]]
) -> None:
    texts = {"zlib": LICENCE, "whales": OWN, "curl": LICENCE.upper()}
    documents = [Document(f"mem:{name}", text, title=name) for name, text in texts.items()]
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add_documents(documents)
        with index.searcher() as searcher:
            keys = [key for doc in (1, 2, 3) for key in searcher.store.chunk_keys(doc).tolist()]
            stored = searcher.chunks(keys)
    assert [row.title for row in stored] == list(texts)
    others = [
        Chunk(row.key, row.uri, row.title, row.text, row.outline, row.context) for row in stored
    ]
    assert _native.find_copied_chunks(query, stored, share=0.9) == copies
    assert _native.find_copied_chunks(query, others, share=0.9) == copies


def test_rows_of_the_store_and_others_may_hold_the_same_phrases_and_names(tmp_path: Path) -> None:
    texts = {"git": "The  tag\nof a Commit.", "svn": "A tagged commit", "été": "Été: the tag"}
    documents = [Document(f"mem:{name}", text, title=name) for name, text in texts.items()]
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add_documents(documents)
        with index.searcher() as searcher:
            keys = [key for doc in (1, 2, 3) for key in searcher.store.chunk_keys(doc).tolist()]
            stored = searcher.chunks(keys)
    others = [Chunk(row.key, row.uri, row.title, row.text) for row in stored]
    names = [("of git", ()), ("tag", ("git",))]
    for rows in (stored, others):
        # A text with other characters than ASCII may hold anything.
        assert _native.rows_with_phrases(rows, ["the tag of", "commit"]) == [0, 2]
        assert _native.rows_with_phrases(rows, ["tag"]) == [0, 2]
        assert _native.rows_with_names(rows, names) == [0, 2]


def test_a_row_has_the_same_text_whenever_it_is_asked_for(tmp_path: Path) -> None:
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add_documents([Document("mem:1", "Les baleines mangent du krill.", lang="fr")])
        with index.searcher() as searcher:
            (row,) = searcher.chunks([1])
    assert row.text is row.text
    assert (row.text, row.lang, row.kind) == ("Les baleines mangent du krill.", "fr", "prose")


def test_what_is_no_chunk_is_refused() -> None:
    with pytest.raises(AttributeError, match="outline"):
        _native.find_copied_chunks("q", ["text"], share=0.9)  # type: ignore[list-item]
