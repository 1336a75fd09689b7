"""Order of embedding: what gains most comes first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from crx.ingest.embedding_order import CHUNKS_A_TURN, RECENT_NS, is_late, order_pending


@dataclass(frozen=True)
class Row:
    """What the order reads of a document."""

    doc: int
    uri: str
    source_mtime_ns: int = 0
    kind: str = "prose"


def order(*rows: tuple[Row, int]) -> list[tuple[str, int]]:
    """Return (URI, ordinal) of the chunks of documents, given with their number, in their order."""
    chunks = [(row.doc, ordinal) for row, count in rows for ordinal in range(count)]
    keyed = [(key, *chunk) for key, chunk in enumerate(chunks, 1)]
    uris = {row.doc: row.uri for row, _ in rows}
    ordered = order_pending(
        np.array(keyed, np.int64).reshape(-1, 3),
        [row for row, _ in rows],  # type: ignore[misc]
    )
    return [(uris[chunks[key - 1][0]], chunks[key - 1][1]) for key in ordered]


def test_the_first_chunks_of_each_document_come_before_the_last_of_any() -> None:
    n = CHUNKS_A_TURN
    ordered = order((Row(1, "a.md"), 2 * n + 1), (Row(2, "b.md"), n + 1))
    assert ordered == [
        *[("a.md", i) for i in range(n)],
        *[("b.md", i) for i in range(n)],
        *[("a.md", i) for i in range(n, 2 * n)],
        ("b.md", n),
        ("a.md", 2 * n),
    ]


def test_newer_documents_come_first_and_those_of_the_last_week_as_a_whole() -> None:
    now = 100 * RECENT_NS
    rows = (
        (Row(1, "old.md", now - 3 * RECENT_NS), 1),
        (Row(2, "older.md", now - 4 * RECENT_NS), 1),
        (Row(3, "new.md", now), CHUNKS_A_TURN + 1),
        (Row(4, "recent.md", now - RECENT_NS), 1),
    )
    turns = [uri for uri, _ in order(*rows)]
    assert list(dict.fromkeys(turns)) == ["new.md", "recent.md", "old.md", "older.md"]
    assert turns.index("old.md") == CHUNKS_A_TURN + 2


def test_source_code_comes_after_prose_and_before_its_tests() -> None:
    rows = (
        (Row(1, "tests/test_parse.py", 9 * RECENT_NS, "code"), 1),
        (Row(2, "src/parse.py", 9 * RECENT_NS, "code"), 1),
        (Row(3, "docs/guide.md", 1), 9),
    )
    found = [uri for uri, _ in order(*rows)]
    assert found == ["docs/guide.md"] * 9 + ["src/parse.py", "tests/test_parse.py"]


def test_licences_tests_and_generated_texts_come_last_even_if_they_are_new() -> None:
    rows = ((Row(1, "LICENSE", 9 * RECENT_NS), 1), (Row(2, "guide.md", 1), 9))
    assert order(*rows)[-1] == ("LICENSE", 0)


def test_a_document_of_the_future_or_without_a_date_loses_no_chunk() -> None:
    rows = ((Row(1, "a", 2**62), 2), (Row(2, "b", 0), 2), (Row(3, "c", -(2**62)), 1))
    assert sorted(order(*rows)) == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("c", 0)]
    assert order() == []


@pytest.mark.parametrize(
    "uri",
    [
        "/p/LICENSE",
        "/p/License-MIT",
        "/p/COPYING.txt",
        "/p/tests/words.py",
        "/p/src/test_words.py",
        "/p/src/words_test.go",
        "/p/src/words.spec.ts",
        "/p/Cargo.lock",
        "/p/package-lock.json",
        "/p/web/app.min.js",
        "/p/node_modules/x/index.js",
        "/p/api_pb2.py",
    ],
)
def test_a_path_tells_what_is_late(uri: str) -> None:
    assert is_late(uri)


@pytest.mark.parametrize(
    "uri",
    ["/p/licensing.md", "/p/spec.md", "/p/test.md", "/p/latest.py", "/p/notice-of-rent.pdf", "x"],
)
def test_other_paths_are_not_late(uri: str) -> None:
    assert not is_late(uri)
