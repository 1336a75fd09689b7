"""Question sets as a list of quotes: a question, the file that answers it, and a piece of its text.

A line of `questions.jsonl` is {"id"?, "query", "path", "quote", "lang"?, "query_lang"?}. The quote
is looked for in every document below a folder, since the same text may be in several files; runs of
white space are equal to one space, and offsets are those of the document.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from crx.errors import InputError, UsageError
from crx.ingest._worker.isolated_reader import IsolatedReader
from crx.ingest.discover import Root, discover, require_paths
from crx.ingest.paths import uri_of
from crx.ingest.read import read_file
from crx.types import Document
from crx_evaluate.datasets import (
    Gold,
    GoldSpan,
    Query,
    QuestionSet,
    question_language,
    read_rows,
    read_set,
    required_text,
)

_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Quote:
    """A question, and a piece of text of the file at `path` that answers it."""

    id: str
    query: str
    path: str
    text: str
    lang: str = ""


QUESTIONS = "questions.jsonl"


def read_questions(folder: Path, *, files: Path | None = None) -> QuestionSet:
    """Read a question set of either form: `queries.jsonl` with its corpus, or `questions.jsonl`.

    `files` is the folder of the documents that the latter quotes, by default its own.
    """
    listed = folder / QUESTIONS
    if (folder / "corpus.jsonl").exists() or not listed.is_file():
        if files is not None:
            raise UsageError(f"{folder}: has no {QUESTIONS}, which --files is for")
        return read_set(folder)
    return read_quoted_set(listed, files or folder)


def read_quoted_set(file: Path, folder: Path) -> QuestionSet:
    """Return the questions of a file about the documents below a folder.

    Questions whose quote is in no document are left out, and a note of the set says how many.
    """
    quotes = read_quotes(file)
    documents, failed = read_folder(folder, without=file)
    spans = find_quotes(documents, quotes)
    found = [quote for quote in quotes if spans[quote.id]]
    missing = [quote for quote in quotes if not spans[quote.id]]
    if not found:
        raise UsageError(f"{file}: no quote is in a document below {folder}; --files names another")
    notes = []
    if missing:
        first = missing[0]
        notes.append(
            f"{len(missing)} of {len(quotes)} questions are left out: their quotes are in no "
            f"document; the first is {first.id}, of {first.path}"
        )
    if failed:
        notes.append(f"files that were not read: {len(failed)}; the first is {failed[0]}")
    return QuestionSet(
        file.resolve().parent.name,
        tuple(documents),
        tuple(
            Query(quote.id, quote.query, (Gold(tuple(spans[quote.id])),), quote.lang)
            for quote in found
        ),
        tuple(notes),
    )


def read_quotes(file: Path) -> list[Quote]:
    """Read a list of questions; raises `UsageError` with the file, the line and the fault."""
    quotes: dict[str, Quote] = {}
    rows = list(read_rows(file))
    if rows and not any(row.get("quote") for _, row in rows):
        raise UsageError(
            f'{file}: no question has a quote; give each a "quote" of the text that answers it'
        )
    for where, row in rows:
        id_ = str(row.get("id") or len(quotes) + 1)
        if id_ in quotes:
            raise UsageError(f"{where}: id {id_!r} occurs twice")
        text = _SPACE.sub(" ", required_text(row, "quote", where)).strip()
        query, path = (required_text(row, name, where) for name in ("query", "path"))
        quotes[id_] = Quote(id_, query, path, text, question_language(row, where))
    if not quotes:
        raise UsageError(f"{file}: contains no question")
    return list(quotes.values())


def read_folder(folder: Path, *, without: Path) -> tuple[list[Document], list[str]]:
    """Return the documents below a folder, by their path in it, and the files that failed.

    The file `without` is no document.
    """
    require_paths([folder])
    documents: list[Document] = []
    failed: list[str] = []
    above, without = f"{uri_of(folder)}/", without.resolve()
    with IsolatedReader() as reader:
        for found in discover([Root.at(folder)]).files:
            uri = found.uri.removeprefix(above)
            if found.path.resolve() == without:
                continue
            try:
                documents += read_file(found.path, uri=uri, read=reader.read)
            except InputError as error:
                failed.append(f"{uri}: {error}")
    return documents, failed


def find_quotes(
    documents: Iterable[Document], quotes: Sequence[Quote]
) -> dict[str, list[GoldSpan]]:
    """Return the spans of each quote, by the question's id; a quote in no document has none."""
    spans: dict[str, list[GoldSpan]] = {quote.id: [] for quote in quotes}
    for document in documents:
        collapsed, starts = _collapse(document.text)
        for quote in quotes:
            for at in _occurrences(collapsed, quote.text):
                start = _offset(starts, at)
                end = _offset(starts, at + len(quote.text) - 1) + 1
                spans[quote.id].append(GoldSpan(document.uri, start, end))
    return spans


def _occurrences(text: str, quote: str) -> Iterator[int]:
    at = text.find(quote)
    while at >= 0:
        yield at
        at = text.find(quote, at + 1)


def _collapse(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the text with runs of white space as one space, and where each piece came from.

    The pieces are (offset in what is returned, offset in the text), ascending.
    """
    parts: list[str] = []
    starts: list[tuple[int, int]] = [(0, 0)]
    length = end = 0
    for match in _SPACE.finditer(text):
        if match.group() == " ":
            continue
        parts += [text[end : match.start()], " "]
        length += match.start() - end + 1
        end = match.end()
        starts.append((length, end))
    parts.append(text[end:])
    return "".join(parts), starts


def _offset(starts: Sequence[tuple[int, int]], at: int) -> int:
    """Return the offset in the text of an offset in the collapsed text."""
    piece = bisect_right(starts, at, key=lambda start: start[0]) - 1
    collapsed, original = starts[piece]
    return original + at - collapsed
