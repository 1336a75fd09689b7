"""Passages around hits, through the binding; see also `rust/passages/` and `rust/store/`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx._native import PassageRow, Store
from crx.errors import Damaged

Layout = np.ndarray[Any, np.dtype[np.uint32]]


def even(chunks: int, *, tokens: int = 10, sections: int = 1) -> Layout:
    """A document of equal chunks, with four code points a token, in sections of equal length."""
    at = np.arange(chunks, dtype=np.uint32) * tokens
    section = np.arange(chunks, dtype=np.uint32) * sections // chunks
    columns = (at * 4, (at + tokens) * 4, at, at + tokens, section)
    return np.stack(columns, axis=1).astype(np.uint32)


class Corpus:
    """A store of documents with given layouts; a hit is a document, an ordinal and a score."""

    def __init__(self, path: Path, *layouts: Layout) -> None:
        self.store = Store.open(str(path), write=True, create=True)
        self.docs = [self._put(str(number), layout) for number, layout in enumerate(layouts)]
        self.keys = [self.store.chunk_keys(doc) for doc in self.docs]

    def _put(self, uri: str, layout: Layout) -> int:
        none = [b""] * len(layout)
        return self.store.put_document(
            uri=uri, title="", lang="en", metadata="{}", source_hash=b"", source_size=0,
            source_mtime_ns=0, text="x" * int(layout[-1, 1]), marks="[]", layout=layout,
            outlines=[""] * len(layout), context_keys=none, vector_keys=none,
        )  # fmt: skip

    def expand(self, hits: list[tuple[int, int, float]], **options: Any) -> list[PassageRow]:
        keys = np.array([self.keys[doc][ordinal] for doc, ordinal, _ in hits], dtype=np.int64)
        scores = np.array([score for *_, score in hits], dtype=np.float32)
        return self.store.expand_passages(keys, scores, **options)

    def select(self, hits: list[tuple[int, int]], **options: Any) -> list[PassageRow]:
        keys = np.array([self.keys[doc][ordinal] for doc, ordinal in hits], dtype=np.int64)
        scores = (1 / np.arange(1, len(hits) + 1)).astype(np.float32)
        return self.store.select_passages(keys, scores, **options)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    layouts = [even(20, sections=3), even(20, sections=3), even(30, tokens=100)]
    corpus = Corpus(tmp_path_factory.mktemp("corpus") / "notes.crx", *layouts)
    yield corpus
    corpus.store.close()


def test_a_hit_grows_by_whole_neighbours_up_to_the_budget(corpus: Corpus) -> None:
    (row,) = corpus.expand([(0, 3, 0.5)], budget_tokens=35)
    span = (row.doc, row.start, row.end, row.first, row.last)
    assert span == (corpus.docs[0], 80, 200, 2, 4)
    assert (row.tokens, row.score, row.hits) == (30, 0.5, [0])
    assert (row.text, row.lines, row.marks) == ("x" * 120, (1, 1), "[]")


def test_a_passage_within_a_section_ends_at_its_border(corpus: Corpus) -> None:
    (row,) = corpus.expand([(0, 4, 1.0)], budget_tokens=200, within_section=True)
    assert (row.first, row.last) == (0, 6)


def test_windows_that_touch_merge_and_score_as_their_best_hit(corpus: Corpus) -> None:
    rows = corpus.expand([(0, 2, 0.25), (1, 0, 0.5), (0, 5, 0.75)], window=1)
    assert [(row.doc, row.first, row.last, row.score, row.hits) for row in rows] == [
        (corpus.docs[0], 1, 6, 0.75, [2, 0]),
        (corpus.docs[1], 0, 1, 0.5, [1]),
    ]


def test_passages_can_be_in_document_order(corpus: Corpus) -> None:
    hits = [(1, 0, 0.9), (0, 8, 0.1), (0, 0, 0.5)]
    rows = corpus.expand(hits, order="document")
    assert [(row.doc, row.first) for row in rows] == [
        (corpus.docs[0], 0),
        (corpus.docs[0], 8),
        (corpus.docs[1], 0),
    ]


def test_tokens_in_overlaps_of_chunks_count_once(tmp_path: Path) -> None:
    layout = np.array([[0, 60, 0, 15, 0], [40, 100, 10, 25, 0]], dtype=np.uint32)
    (row,) = Corpus(tmp_path / "notes.crx", layout).expand([(0, 0, 1.0)], budget_tokens=25)
    assert (row.start, row.end, row.tokens) == (0, 100, 25)


def test_hits_whose_chunks_are_gone_are_skipped(corpus: Corpus) -> None:
    keys = np.array([10**9, corpus.keys[0][3]], dtype=np.int64)
    scores = np.array([0.9, 0.5], dtype=np.float32)
    for rows in (
        corpus.store.expand_passages(keys, scores),
        corpus.store.select_passages(keys, scores, budget_tokens=10),
    ):
        assert [(row.first, row.last, row.hits) for row in rows] == [(3, 3, [1])]


def test_the_rest_of_the_budget_goes_to_a_chunk_between_two_hits(corpus: Corpus) -> None:
    rows = corpus.select([(2, 4), (2, 16), (2, 6)], budget_tokens=400)
    assert [(row.first, row.last, row.tokens, row.hits) for row in rows] == [
        (4, 6, 300, [0, 2]),
        (16, 16, 100, [1]),
    ]
    assert [(row.start, row.end, row.score) for row in rows] == [
        (1600, 2800, 1.0),
        (6400, 6800, 0.5),
    ]


def test_the_last_hits_are_left_out_if_the_budget_is_short(corpus: Corpus) -> None:
    rows = corpus.select([(2, 4), (2, 16), (2, 6)], budget_tokens=250)
    assert [(row.first, row.last, row.hits) for row in rows] == [(4, 4, [0]), (16, 16, [1])]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget_tokens": 5, "window": 1}, "give one of them"),
        ({"order": "best"}, "neither"),
    ],
)
def test_a_bad_argument_is_named(corpus: Corpus, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        corpus.expand([(0, 3, 1.0)], **options)


def test_keys_and_scores_must_match(corpus: Corpus) -> None:
    with pytest.raises(ValueError, match="keys, scores: 2 and 1 values"):
        corpus.store.select_passages(corpus.keys[0][:2], np.ones(1, np.float32), budget_tokens=9)


@given(
    hits=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 19), st.integers(0, 5)), min_size=1),
    budget=st.integers(0, 120),
    section=st.booleans(),
)
def test_every_hit_is_in_one_expanded_passage_and_passages_do_not_touch(
    corpus: Corpus, hits: list[tuple[int, int, float]], budget: int, *, section: bool
) -> None:
    rows = corpus.expand(hits, budget_tokens=budget, within_section=section, order="document")
    assert sorted(hit for row in rows for hit in row.hits) == list(range(len(hits)))
    for row in rows:
        members = [hits[hit] for hit in row.hits]
        assert {corpus.docs[doc] for doc, *_ in members} == {row.doc}
        assert all(row.first <= at <= row.last for _, at, _ in members)
        assert row.score == max(score for *_, score in members)
        assert row.tokens == (row.last - row.first + 1) * 10
        assert len(members) > 1 or row.tokens <= max(budget, 10)
    for before, after in pairwise(rows):
        assert before.doc < after.doc or before.last + 1 < after.first


@given(
    hits=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 19)), min_size=1, max_size=30),
    budget=st.integers(1, 3000),
    section=st.booleans(),
)
def test_selected_passages_fit_the_budget_and_one_has_the_best_hit(
    corpus: Corpus, hits: list[tuple[int, int]], budget: int, *, section: bool
) -> None:
    rows = corpus.select(hits, budget_tokens=budget, within_section=section)
    assert sum(row.tokens for row in rows) <= max(budget, 100)
    assert 0 in rows[0].hits
    assert all(corpus.docs[hits[hit][0]] == row.doc for row in rows for hit in row.hits)


def put_text(store: Store, text: str, marks: str) -> int:
    """Put a document without chunks."""
    return store.put_document(
        uri="a", title="", lang="en", metadata="{}", source_hash=b"", source_size=0,
        source_mtime_ns=0, text=text, marks=marks, layout=np.empty((0, 5), np.uint32),
        outlines=[], context_keys=[], vector_keys=[],
    )  # fmt: skip


@pytest.mark.parametrize("lines", [10, 30_000])
def test_the_passage_of_a_span_has_its_lines_and_marks(tmp_path: Path, lines: int) -> None:
    store = Store.open(str(tmp_path / "notes.crx"), write=True, create=True)
    text = "héllo\n" * lines
    marks = [
        {"kind": "heading", "start": 0, "end": len(text), "label": "all", "level": 1},
        {"kind": "page", "start": 12, "end": 24, "label": "2", "level": 0},
        {"kind": "page", "start": 24, "end": 30, "label": "3", "level": 0},
    ]
    doc = put_text(store, text, orjson.dumps(marks).decode())
    found = store.passage(doc, 13, 24)
    assert (found.text, found.lines) == ("éllo\nhéllo\n", (3, 4))
    assert orjson.loads(found.marks) == marks[:2]
    last = store.passage(doc, len(text) - 6, len(text))
    assert (last.text, last.lines) == ("héllo\n", (lines, lines))
    assert [mark["label"] for mark in orjson.loads(last.marks)] == ["all"]
    with pytest.raises(ValueError, match=f"not a span of document {doc}"):
        store.passage(doc, 0, len(text) + 1)


def test_a_passage_is_read_from_its_own_pieces_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.crx"
    store = Store.open(str(path), write=True, create=True)
    doc = put_text(store, "line\n" * 30_000, "[]")
    store.close()
    with closing(sqlite3.connect(path / "crx.db")) as db, db:
        db.execute("UPDATE piece SET text = 'x' WHERE start = 0")
        db.execute("UPDATE body SET marks = 'x'")
    store = Store.open(str(path))
    found = store.passage(doc, 100_000, 100_004)
    assert (found.text, found.lines, found.marks) == ("line", (20_001, 20_001), "[]")
    with pytest.raises(Damaged):
        store.passage(doc, 0, 4)
