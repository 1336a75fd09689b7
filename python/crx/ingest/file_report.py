"""What the reader of a file makes of it: the reader, the documents, and what is missing of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from crx.errors import InputError
from crx.ingest._worker.isolated_reader import IsolatedReader
from crx.ingest.formats import suffix
from crx.ingest.paths import describe_os_error, uri_of
from crx.ingest.readers import reader_name
from crx.ingest.readers.left_out import LEFT_OUT, LEFT_OUT_REASONS
from crx.types import Document

# What the metadata says is missing of a document, as a person reads it.
_MISSING = {
    "pages_without_text": "pages have no text; they may be pictures",
    "pages_cut": "pages have more characters than are read",
    "undecodable": "characters are none in this encoding",
}


@dataclass(frozen=True, slots=True)
class FileReport:
    """A file as it is read now: its documents and, if it was refused in whole or in part, why."""

    uri: str
    size: int
    documents: tuple[Document, ...]
    refusal: str

    @property
    def readers(self) -> str:
        """The formats of the documents, else the reader of the file's extension, "" if none."""
        formats = Counter(str(each.metadata.get("format", "")) for each in self.documents)
        names = [name for name, _ in formats.most_common() if name]
        return ", ".join(names) or reader_name(suffix(self.uri))

    @property
    def encodings(self) -> str:
        """The encodings of the documents, UTF-8 where none is noted."""
        found = (str(each.metadata.get("encoding", "utf-8")) for each in self.documents)
        return ", ".join(dict.fromkeys(found))

    @property
    def missing(self) -> tuple[str, ...]:
        """What is missing of the documents, a line each; what several lack is counted."""
        return tuple(
            f"{line} ({count} documents)" if count > 1 else line
            for line, count in Counter(
                line for document in self.documents for line in _describe_missing(document.metadata)
            ).items()
        )


def _describe_missing(metadata: Mapping[str, object]) -> Iterator[str]:
    """Yield a line for each thing that the metadata of a document says is missing of it."""
    names, reasons = metadata.get(LEFT_OUT, []), metadata.get(LEFT_OUT_REASONS, [])
    if isinstance(names, str):
        yield names
    elif isinstance(names, list):
        listed = reasons if isinstance(reasons, list) and len(reasons) == len(names) else None
        for name, reason in zip(names, listed or [""] * len(names), strict=True):
            yield f"{name}: {reason}" if reason else str(name)
    for key, what in _MISSING.items():
        if key in metadata:
            yield f"{metadata[key]} {what}"
    if "unstructured" in metadata:
        yield f"headings: {metadata['unstructured']}"


def read_report(path: Path, *, max_file_mb: int, ocr: str) -> FileReport:
    """Read a file as `crx index` does, in a process of its own; raises `InputError` if it cannot.

    `ocr` names the engine that recognizes text in pictures, "" for none.
    """
    name, most = uri_of(path), max_file_mb * 1_000_000
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as failed:
        raise InputError(f"{path}: cannot be read: {describe_os_error(failed)}") from failed
    if len(data) > most:
        raise InputError(f"{path}: more than max_file_mb = {max_file_mb}; --set max_file_mb=MB")
    documents: list[Document] = []
    refusal = ""
    with IsolatedReader(ocr=ocr) as reader:
        try:
            documents.extend(reader.read(data, name=name, max_bytes=most))
        except InputError as refused:
            refusal = str(refused)
    return FileReport(name, len(data), tuple(documents), refusal)
