"""Files of contexts: JSON lines that carry contexts from one machine to another.

One object a line: `{"doc_id" | "path", "start", "end", "context", "generator", "sha256"}`. Offsets
are code points of the document's normalized text, half open. `generator` and `sha256` are optional.
`sha256` is the hash of the span's text in UTF-8, as 64 hex digits; without it an edit that keeps
the offsets is not detected. Other fields are ignored. A record is matched with a chunk of exactly
its span, never with the nearest one.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson

from crx._context.controls import has_controls
from crx.errors import InputError, NoRoom, SystemFailure, UsageError
from crx.types import Chunk, Context, Document

_Name = Literal["doc_id", "path"]

_DIGEST = re.compile(r"([0-9a-fA-F]{64})?")


@dataclass(frozen=True, slots=True)
class Record:
    """One context of a file: its document, its span, its text and its generator.

    `sha256` is the hash of the span's text when the context was written, "" if not known.
    """

    document: str
    start: int
    end: int
    context: str
    generator: str = ""
    named_by: _Name = "doc_id"
    sha256: str = ""

    def differs(self, text: str) -> bool:
        """Return whether the context was written for another text; False without a hash."""
        return bool(self.sha256) and self.sha256 != hash_of(text)


@dataclass(frozen=True, slots=True)
class Matched:
    """Records of a file with and without a chunk in an index.

    `found` pairs a record with the position of its span among the document's spans.
    """

    found: tuple[tuple[Record, int], ...]
    unknown_documents: tuple[str, ...]
    unmatched_spans: tuple[Record, ...]


def hash_of(text: str) -> str:
    """Return the SHA-256 of a span's text in UTF-8, as 64 hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def path_below(folder: Path, name: str) -> str:
    """Return the normalized path of a name relative to a folder: the URI of that file."""
    return Path(os.path.normpath(folder / name)).as_posix()


def name_kind(document: Document) -> _Name:
    """Return how records name a document: by path if it is a file."""
    return "path" if document.metadata.get("path") == document.uri else "doc_id"


def id_of(uri: str) -> str:
    """Return the name of a document within its file, "" if it is the whole file."""
    return uri.partition("#")[2]


def read_contexts(path: str | os.PathLike[str]) -> list[Record]:
    """Return the records of a file, in its order.

    Raises `UsageError` if the file cannot be read, `InputError` with its name and the line's
    number if a line is not a record or repeats a span.
    """
    try:
        lines = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise UsageError(f"{os.fspath(path)}: {(error.strerror or str(error)).lower()}") from None
    records: list[Record] = []
    seen: dict[tuple[str, int, int], int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = to_record(parse_fields(line))
        except ValueError as fault:
            raise InputError(f"{os.fspath(path)}: line {number}: {fault}") from None
        span = (record.document, record.start, record.end)
        if span in seen:
            raise InputError(
                f"{os.fspath(path)}: line {number}: {record.document} {record.start}-{record.end} "
                f"is already on line {seen[span]}; keep one of them"
            )
        seen[span] = number
        records.append(record)
    return records


def write_contexts(path: str | os.PathLike[str], records: Iterable[Record]) -> int:
    """Write records to a file and return how many; an old file is replaced only by a whole one."""
    target = Path(path)
    count = 0
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=target.name, delete=False
        ) as aside:
            try:
                for record in records:
                    aside.write(orjson.dumps(to_fields(record), option=orjson.OPT_APPEND_NEWLINE))
                    count += 1
                aside.flush()
                os.fsync(aside.fileno())
                os.replace(aside.name, target)
            except BaseException:
                os.unlink(aside.name)
                raise
    except FileNotFoundError:
        raise UsageError(f"{target.parent}: no such folder") from None
    except PermissionError as error:
        raise SystemFailure(f"{target}: {(error.strerror or str(error)).lower()}") from None
    except OSError as error:
        raise NoRoom(f"{target}: {(error.strerror or str(error)).lower()}") from None
    return count


def match(
    records: Iterable[Record], spans_by_document: Mapping[str, Sequence[tuple[int, int]]]
) -> Matched:
    """Match each record with the chunk of the same document and exactly the same span."""
    found: list[tuple[Record, int]] = []
    unknown: dict[str, None] = {}
    unmatched: list[Record] = []
    positions: dict[str, dict[tuple[int, int], int]] = {}
    for record in records:
        if record.document not in spans_by_document:
            unknown[record.document] = None
            continue
        if record.document not in positions:
            spans = spans_by_document[record.document]
            positions[record.document] = {(int(s), int(e)): at for at, (s, e) in enumerate(spans)}
        at = positions[record.document].get((record.start, record.end))
        if at is None:
            unmatched.append(record)
        else:
            found.append((record, at))
    return Matched(tuple(found), tuple(unknown), tuple(unmatched))


def parse_fields(line: bytes) -> dict[str, object]:
    """Return the fields of a line by name. Raises `ValueError` with the fault."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise ValueError("not a JSON object in UTF-8") from None
    if not isinstance(fields, dict):
        raise ValueError("not a JSON object in UTF-8")
    return fields


def to_record(fields: Mapping[str, object]) -> Record:
    """Return the record that the fields of a line make. Raises `ValueError` with the fault."""
    named_by = _name(fields)
    start, end = _offset(fields, "start"), _offset(fields, "end")
    if start >= end:
        raise ValueError(f"start {start} is not before end {end}")
    if has_controls(str(fields.get("context"))):
        raise ValueError('"context" has control characters, marks of direction or tags')
    return Record(
        document=_text(fields, named_by),
        start=start,
        end=end,
        context=_text(fields, "context"),
        generator=_text(fields, "generator") if fields.get("generator") else "",
        named_by=named_by,
        sha256=_digest(fields),
    )


def _name(fields: Mapping[str, object]) -> _Name:
    if ("doc_id" in fields) == ("path" in fields):
        raise ValueError('needs one of "doc_id" and "path"')
    return "doc_id" if "doc_id" in fields else "path"


def _text(fields: Mapping[str, object], field: str) -> str:
    value = fields.get(field)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f'"{field}" is not a text, or empty')
    return value


def _digest(fields: Mapping[str, object]) -> str:
    value = fields.get("sha256") or ""
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise ValueError('"sha256" is not 64 hex digits')
    return value.lower()


def _offset(fields: Mapping[str, object], field: str) -> int:
    value = fields.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f'"{field}" is not a whole number from 0')
    return value


def to_fields(record: Record) -> dict[str, str | int]:
    """Return the fields of a record by name, as a line has them."""
    fields: dict[str, str | int] = {
        record.named_by: record.document,
        "start": record.start,
        "end": record.end,
        "context": record.context,
        "generator": record.generator,
    }
    return fields | ({"sha256": record.sha256} if record.sha256 else {})


class FileContexts:
    """The contexts of a file (see `crx._context.records`), by document and exact span.

    A document is named by its URI, its path below the current folder, or its `id` within its file;
    if several documents have an id, the first one requested gets its contexts.
    """

    def __init__(self, path: Path) -> None:
        self.records = tuple(read_contexts(path))
        here = Path.cwd()
        paths = {name: path_below(here, name) for name in {r.document for r in self.records}}
        self._by_span = {(paths[r.document], r.start, r.end): r for r in self.records}
        self._by_span |= {(r.document, r.start, r.end): r for r in self.records}
        self._first_of_id: dict[str, str] = {}
        self._hash = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()

    @property
    def fingerprint(self) -> str:
        return f"file:{self._hash}"

    def spans(self, uri: str) -> tuple[tuple[int, int], ...]:
        """Return the spans of a document that the file has contexts for, in order."""
        names = self._names(uri)
        return tuple(sorted({(start, end) for doc, start, end in self._by_span if doc in names}))

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield each chunk's context, a failed one if the file lacks its span or text."""
        for chunk in chunks:
            spans = ((name, chunk.start, chunk.end) for name in self._names(document.uri))
            record = next((self._by_span[span] for span in spans if span in self._by_span), None)
            if record is None:
                yield Context.failed("span not in the file")
            elif record.differs(chunk.text):
                yield Context.failed("text differs from the file's")
            else:
                yield Context(record.context)

    def _names(self, uri: str) -> tuple[str, ...]:
        name = id_of(uri)
        return (uri, name) if name and self._first_of_id.setdefault(name, uri) == uri else (uri,)
