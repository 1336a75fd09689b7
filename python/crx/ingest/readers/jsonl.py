"""Reader of JSON lines: one document a line, for texts that another program prepared.

    {"id", "title"?, "text", "lang"?, "chunks"?: [[start, end], ...], "metadata"?: {...}}

`doc_id` is another name of `id`. A record's URI is `<file>#<id>`, or `<file>#<line>` without an id.
Other fields that contain a text, a number or a boolean become metadata too.

The documents of all good lines are yielded first; then one `InputError` names the bad lines. A
caller that keeps the documents yielded before the error has all of them.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import orjson

from crx.errors import InputError, NothingToRead
from crx.ingest.readers.decode import map_offsets, normalize
from crx.ingest.readers.structure import structure
from crx.ingest.unread_parts import describe_unread
from crx.types import Document, Scalar

extensions = (".jsonl", ".ndjson")

# All answers repeat these; a tag of a language has at most 35 characters in practice (RFC 5646).
_ID_CHARS = 1000
_LANG_CHARS = 35
_METADATA_BYTES = 100_000
_FIELDS = frozenset(("id", "doc_id", "title", "text", "lang", "chunks", "metadata"))


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield one document a line, then raise `InputError` if any line was bad."""
    bad: list[str] = []
    uris: set[str] = set()
    for number, line in enumerate(io.BytesIO(data.removeprefix(b"\xef\xbb\xbf")), start=1):
        if not line.strip():
            continue
        try:
            document = _document(line, name, number)
            if document.uri in uris:
                raise InputError(f"id {document.uri[len(name) + 1 :]!r} was there before")
        except InputError as why:
            bad.append(f"line {number}: {why}")
        else:
            uris.add(document.uri)
            yield document
    if bad:
        raise InputError(describe_unread(bad, read=f"{len(uris)} other documents"))
    if not uris:
        raise NothingToRead("is empty")


def _document(line: bytes, name: str, number: int) -> Document:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as why:
        raise InputError(f"is no JSON ({why.msg})") from why
    if not isinstance(record, dict):
        raise InputError("is no JSON object")
    written = _text(record, "text")
    text = normalize(written)
    if not text.strip():
        raise InputError('has an empty "text"' if "text" in record else 'has no "text"')
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
