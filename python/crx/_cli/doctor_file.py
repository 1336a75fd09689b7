"""`crx doctor FILE`: what the reader of one file makes of it, and whether it is in the index."""

from __future__ import annotations

from pathlib import Path

from crx._cli.output import colored, display_path, print_json, print_line
from crx._index.reader import open_reader
from crx.config import resolve
from crx.errors import InputError
from crx.ingest.file_report import FileReport, read_report
from crx.ingest.paths import candidate_uris
from crx.ingest.roots import read_skipped
from crx.labels import count_label, format_size
from crx.types import Document

# Documents and missing parts that are listed; the others are counted.
_MOST_LISTED = 5
_BEGINNING_CHARS = 300


def diagnose(path: Path, index: Path | None, *, as_json: bool) -> int:
    """Print how a file is read; return the exit code, that of an input error if it is not."""
    settings = resolve().settings
    report = read_report(path, max_file_mb=settings.max_file_mb, ocr=settings.ocr)
    indexed = _describe_indexed(report, index)
    if as_json:
        _print_object(report, indexed)
    else:
        print_line(f"{display_path(report.uri)}, {format_size(report.size)}")
        for label, value in _rows(report, indexed):
            style = "yellow" if label in ("refused", "missing") else ""
            print_line(colored(f"{label:9}", style) if style else f"{label:9}", f"  {value}")
    return InputError.exit_code if report.refusal else 0


def _rows(report: FileReport, indexed: str) -> list[tuple[str, str]]:
    """Return what is printed, each with its label."""
    rows = [("reader", report.readers or "none")]
    documents = report.documents
    if documents:
        chars = sum(len(each.text) for each in documents)
        words = sum(len(each.text.split()) for each in documents)
        rows += [
            ("encoding", report.encodings),
            ("text", f"{chars:,} characters, {count_label(words, 'word')}"),
        ]
    if len(documents) > 1:
        rows.append(("documents", f"{len(documents):,}"))
        rows += [("", _describe(each)) for each in documents[:_MOST_LISTED]]
    elif documents:
        rows += [("title", documents[0].title or "none"), ("marks", _describe_marks(documents[0]))]
        rows.append(("begins", " ".join(documents[0].text[:_BEGINNING_CHARS].split())))
    missing = report.missing
    rows += [("missing", line) for line in missing[:_MOST_LISTED]]
    if len(missing) > _MOST_LISTED:
        rows.append(("missing", f"{len(missing) - _MOST_LISTED:,} more"))
    if report.refusal:
        rows.append(("refused", report.refusal))
    return [*rows, ("index", indexed)]


def _describe(document: Document) -> str:
    return f"{display_path(document.uri)}: {document.title or 'no title'}"


def _describe_marks(document: Document) -> str:
    """Return how many headings, pages and so on a document has."""
    counts: dict[str, int] = {}
    for mark in document.marks:
        counts[mark.kind] = counts.get(mark.kind, 0) + 1
    return ", ".join(count_label(count, kind) for kind, count in counts.items()) or "none"


def _describe_indexed(report: FileReport, index: Path | None) -> str:
    """Return whether the index has the file, and if not, why."""
    if index is None:
        return "none here or above"
    with open_reader(index) as reader:
        for uri in candidate_uris(report.uri):
            row = reader.store.document(uri)
            if row is not None:
                chunks = len(reader.store.chunk_keys(row.doc))
                return f"{display_path(index)} has it, in {count_label(chunks, 'chunk')}"
        failures = dict(reader.store.failures())
        records = {row.uri.rpartition("#")[0] for row in reader.store.documents()}
        passed_over = {each.uri: each.reason for each in read_skipped(reader.store)}
    for uri in candidate_uris(report.uri):
        if uri in failures:
            has = "has a part of it" if uri in records else "has it not"
            return f"{display_path(index)} {has}: {failures[uri]}"
        if uri in passed_over:
            return f"{display_path(index)} has it not: {passed_over[uri]}"
    return f"{display_path(index)} has no document of this name"


def _print_object(report: FileReport, indexed: str) -> None:
    print_json(
        {
            "uri": report.uri,
            "bytes": report.size,
            "reader": report.readers,
            "refused": report.refusal,
            "missing": list(report.missing),
            "index": indexed,
            "documents": [
                {
                    "uri": each.uri,
                    "title": each.title,
                    "characters": len(each.text),
                    "metadata": dict(each.metadata),
                }
                for each in report.documents
            ],
        }
    )
