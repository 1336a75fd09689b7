"""Reader of JSON lines: one document a line, for texts that another program prepared.

    {"id", "title"?, "text", "lang"?, "chunks"?: [[start, end], ...], "metadata"?: {...}}

`doc_id` is another name of `id`. A record's URI is `<file>#<id>`, or `<file>#<number>` without one.
Other fields that contain a text, a number or a boolean become metadata too.

The documents of all good lines are yielded first; then one `InputError` names the bad lines. A
caller that keeps the documents yielded before the error has all of them. The text of a record that
has no other is its fields as `name: value`.

A file whose first record has no "text", or that has no record, is a log, a chat or other data: one
document, with the fields of each record. A last line that is half written is left out of both.
Arrays of records and records of several lines are read as lines, an array of values as a record.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import orjson

from crx.errors import InputError, NothingToRead
from crx.ingest.readers.decode import decode, without_embedded
from crx.ingest.readers.normal_text import map_offsets, normalize
from crx.ingest.readers.structure import structure
from crx.ingest.readers.text_builder import TextBuilder
from crx.ingest.unread_parts import describe_unread
from crx.types import Document, Scalar

extensions = (".jsonl", ".ndjson")

# All answers repeat these; a tag of a language has at most 35 characters in practice (RFC 5646).
_ID_CHARS = 1000
_LANG_CHARS = 35
_METADATA_BYTES = 100_000
# Characters of a record that is one line, and of a value without a blank that is a word.
_LINE_CHARS = 500
_VECTOR_NUMBERS = 32  # of a list at least that nobody searches by its numbers
# What says that a record was made for this reader, though something may be wrong with it.
_OWN_FIELDS = frozenset(("text", "chunks", "doc_id"))
_NO_TEXT = frozenset(("id", "doc_id", "lang", "chunks", "metadata"))
_FIELDS = frozenset(("id", "doc_id", "title", "text", "lang", "chunks", "metadata"))
_DECODER = json.JSONDecoder()


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield one document a line, then raise `InputError` if any line was bad."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    lines = _as_lines(data)
    unit = "line" if lines is data else "record"
    if not _is_json(last := lines[lines.rfind(b"\n") + 1 :]):
        lines = lines[: len(lines) - len(last)]
    if _is_foreign(lines):
        yield from _read_foreign(lines, name)
        return
    bad: list[str] = []
    uris: set[str] = set()
    for number, line in enumerate(io.BytesIO(lines), start=1):
        if not line.strip():
            continue
        try:
            document = _document(line, name, number)
            if document is None:
                continue
            if document.uri in uris:
                raise InputError(f"id {document.uri[len(name) + 1 :]!r} was there before")
        except InputError as why:
            bad.append(f"{unit} {number}: {why}")
        else:
            uris.add(document.uri)
            yield document
    if bad:
        raise InputError(describe_unread(bad, read=f"{len(uris)} other documents"))
    if not uris:
        raise NothingToRead("is empty")


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return not line.strip()
    return True


def _as_lines(data: bytes) -> bytes:
    """Return records of several lines, and those of an array, a line each; other bytes as given."""
    first = data.lstrip().partition(b"\n")[0]
    if not first.startswith((b"[", b"{")) or (first.startswith(b"{") and _is_json(first)):
        return data
    records: list[Any] = []
    try:
        text = data.decode().strip()
        at = 0
        while at < len(text):
            record, end = _DECODER.raw_decode(text, at)
            is_array = isinstance(record, list) and isinstance(next(iter(record), 0), dict | list)
            records += record if is_array else [record]
            at = end
            while text[at : at + 1].isspace():
                at += 1
        return b"\n".join(map(orjson.dumps, records))
    except (ValueError, TypeError, RecursionError):
        return data


def _is_foreign(lines: bytes) -> bool:
    """Return True unless the first record, of those that are objects, has a "text"."""
    for line in io.BytesIO(lines):
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
            return not _OWN_FIELDS & record.keys()
    return bool(lines.strip())


def _read_foreign(lines: bytes, name: str) -> Iterator[Document]:
    text = TextBuilder()
    for line in io.BytesIO(lines):
        try:
            fields = _lines(orjson.loads(line))
        except orjson.JSONDecodeError:
            fields = [decode(line).text.strip()] if line.strip() else []
        joined = ", ".join(fields)
        is_line = len(joined) <= _LINE_CHARS and "\n" not in joined
        text.add(joined if is_line else "\n".join(fields), gap="\n" if is_line else "\n\n")
    if not text:
        raise NothingToRead("has no text")
    yield text.build(name, title="", metadata={"format": "jsonl"})


def _lines(record: object) -> list[str]:
    return [f"{key}: {value}" if key else value for key, value in _fields(record)]


def _fields(record: object) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a record's fields, in their order, and of those within.

    A long value without a blank is data and no text, and so is a list of many numbers.
    """
    waiting: list[tuple[str, object]] = [("", record)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            waiting += reversed(value.items())
        elif isinstance(value, list) and not _is_vector(value):
            waiting += ((key, each) for each in reversed(value))
        elif not isinstance(value, list | None) and _is_text(written := str(value).strip()):
            yield key, without_embedded(written)


def _is_vector(values: list[object]) -> bool:
    return len(values) >= _VECTOR_NUMBERS and all(isinstance(each, int | float) for each in values)


def _is_text(value: str) -> bool:
    return 0 < len(value) < _LINE_CHARS or any(char.isspace() for char in value)


def _document(line: bytes, name: str, number: int) -> Document | None:
    """Return the document of a line, None for one whose text is empty."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as why:
        raise InputError(f"is no JSON ({why.msg})") from why
    if not isinstance(record, dict):
        raise InputError("is no JSON object")
    written = record.get("text")
    if not isinstance(written, str) or not written.strip():
        written = "\n".join(_lines({key: record[key] for key in record if key not in _NO_TEXT}))
    text = normalize(written)
    if not text.strip():
        if "text" in record:
            return None
        raise InputError('has no "text"')
    key = record.get("id", record.get("doc_id", number))
    if isinstance(key, bool) or not isinstance(key, str | int) or key == "":
        raise InputError('has an "id" that is neither text nor a whole number')
    if len(str(key)) > _ID_CHARS:
        raise InputError(f'has an "id" of more than {_ID_CHARS:,} characters')
    lang = _text(record, "lang")
    if len(lang) > _LANG_CHARS:
        raise InputError(f'has a "lang" of more than {_LANG_CHARS} characters')
    format_, marks = structure(text, name=str(key))
    return Document(
        uri=f"{name}#{key}",
        text=text,
        title=normalize(_text(record, "title")),
        lang=lang,
        metadata={"format": format_, **_metadata(record)},
        marks=marks,
        chunks=_chunks(record, written),
    )


def _text(record: dict[str, Any], field: str) -> str:
    value = record.get(field)
    if value is not None and not isinstance(value, str):
        raise InputError(f'has a "{field}" that is no text')
    return value or ""


def _metadata(record: dict[str, Any]) -> dict[str, Scalar | list[Scalar]]:
    given = record.get("metadata")
    if given is not None and not isinstance(given, dict):
        raise InputError('has a "metadata" that is no object')
    kept: dict[str, Scalar | list[Scalar]] = {
        key: value
        for key, value in record.items()
        if key not in _FIELDS and isinstance(value, Scalar)
    }
    for key, value in (given or {}).items():
        if value is None:
            continue
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(item, Scalar) for item in values):
            raise InputError(f'has metadata "{key}" that is neither a value nor a list of values')
        kept[key] = value
    if len(orjson.dumps(kept)) > _METADATA_BYTES:
        raise InputError(f"has more than {_METADATA_BYTES // 1000} kB of metadata")
    return kept


def _chunks(record: dict[str, Any], written: str) -> tuple[tuple[int, int], ...] | None:
    """Return the given spans, as offsets into the normalized text."""
    given = record.get("chunks")
    if given is None:
        return None
    if not isinstance(given, list) or not given:
        raise InputError('has "chunks" that are no list of [start, end]')
    edges: list[int] = []
    before = 0
    for span in given:
        if not (
            isinstance(span, list) and len(span) == 2 and all(type(edge) is int for edge in span)
        ):
            raise InputError('has "chunks" that are no list of [start, end]')
        start, end = span
        if not before <= start < end <= len(written):
            raise InputError(
                f"has a chunk [{start}, {end}] that is empty, out of order or beyond its text"
            )
        before = start
        edges += span
    at = map_offsets(written, edges)
    spans = tuple(zip(at[::2], at[1::2], strict=True))
    if any(start >= end for start, end in spans):
        raise InputError("has a chunk of nothing but removed characters")
    return spans
