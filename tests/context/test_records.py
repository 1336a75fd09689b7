"""Contexts carried between machines as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx._context.controls import strip_controls
from crx._context.records import Matched, Record, hash_of, match, read_contexts, write_contexts
from crx.errors import InputError, NoRoom, UsageError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
CONTEXT = TEXT.map(strip_controls).filter(str.strip)
RECORD = st.builds(
    lambda document, start, length, context, generator, named_by, sha256: Record(
        document, start, start + length, context, generator, named_by, sha256
    ),
    TEXT,
    st.integers(0, 10**9),
    st.integers(1, 10**6),
    CONTEXT,
    st.just("") | TEXT,
    st.sampled_from(["doc_id", "path"]),
    st.just("") | TEXT.map(hash_of),
)
GOOD = {"doc_id": "a", "start": 0, "end": 5, "context": "the start"}


@given(st.lists(RECORD, unique_by=lambda r: (r.document, r.start, r.end)))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record]
) -> None:
    path = tmp_path_factory.mktemp("carry") / "contexts.jsonl"
    assert write_contexts(path, records) == len(records)
    assert read_contexts(path) == records


def test_a_missing_generator_a_blank_line_and_a_byte_order_mark_are_allowed(tmp_path: Path) -> None:
    path = tmp_path / "contexts.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n\r\n")
    assert read_contexts(path) == [Record("a", 0, 5, "the start")]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"{", "not a JSON object in UTF-8"),
        (b"[1]", "not a JSON object in UTF-8"),
        (b'{"doc_id": "\xff"}', "not a JSON object in UTF-8"),
        (b'{"start": 0, "end": 1, "context": "x"}', 'needs one of "doc_id" and "path"'),
        (b'{"doc_id": "a", "path": "b"}', 'needs one of "doc_id" and "path"'),
        (b'{"doc_id": "a", "start": "0", "end": 5}', '"start" is not a whole number from 0'),
        (b'{"doc_id": "a", "start": true, "end": 5}', '"start" is not a whole number from 0'),
        (b'{"doc_id": "a", "start": 0, "end": 5.0}', '"end" is not a whole number from 0'),
        (b'{"doc_id": "a", "start": -1, "end": 5}', '"start" is not a whole number from 0'),
        (b'{"doc_id": "a", "start": 5, "end": 5}', "start 5 is not before end 5"),
        (b'{"doc_id": "a", "start": 0, "end": 5}', '"context" is not a text, or empty'),
        (
            b'{"doc_id": "a", "start": 0, "end": 5, "context": "x", "sha256": "abc"}',
            '"sha256" is not 64 hex digits',
        ),
        (b'{"doc_id": 7, "start": 0, "end": 5}', '"doc_id" is not a text, or empty'),
    ],
)
def test_a_line_that_is_no_record_is_named_by_its_number(
    tmp_path: Path, line: bytes, fault: str
) -> None:
    path = tmp_path / "contexts.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n" + line + b"\n")
    with pytest.raises(InputError) as raised:
        read_contexts(path)
    assert str(raised.value) == f"{path}: line 2: {fault}"


def test_a_span_that_comes_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "contexts.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps(GOOD))
    with pytest.raises(InputError, match="line 2: a 0-5 is already on line 1"):
        read_contexts(path)


def test_a_file_that_is_not_there_is_a_mistake_of_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or directory"):
        read_contexts(tmp_path / "none.jsonl")


def test_a_folder_that_is_not_there_is_a_mistake_of_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: no such folder"):
        write_contexts(tmp_path / "none" / "contexts.jsonl", [])


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "contexts.jsonl"
    write_contexts(path, [Record("a", 0, 5, "old")])

    def disk_full() -> Iterator[Record]:
        yield Record("a", 0, 5, "new")
        raise OSError(28, "No space left on device")

    with pytest.raises(NoRoom, match="no space left on device"):
        write_contexts(path, disk_full())
    assert read_contexts(path) == [Record("a", 0, 5, "old")]
    assert list(tmp_path.iterdir()) == [path]


def test_a_span_matches_exactly_or_is_reported() -> None:
    here, moved, gone = Record("a", 5, 9, "x"), Record("a", 6, 9, "y"), Record("b", 0, 4, "z")
    assert match([here, moved, gone], {"a": [(0, 5), (5, 9)]}) == Matched(
        found=((here, 1),), unknown_documents=("b",), unmatched_spans=(moved,)
    )
