"""Question sets on disk: `corpus.jsonl` and `queries.jsonl` in one folder.

Offsets are code points, half open. A corpus line is {"doc_id", "title", "text", "chunks"?,
"metadata"?, "marks"?, "lang"?}, a query line {"query_id", "query", "gold": [{"any": [{"doc_id",
"start", "end"}]}]}, with "lang" and "query_lang" in a set of several languages, and with "kind" and
"exact" in a set of several kinds of questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import orjson

from crx import _native
from crx.errors import UsageError
from crx.ingest.readers.structure import structure
from crx.types import Document, Mark, MarkKind

_MARK_KINDS = frozenset(kind for kinds in get_args(MarkKind) for kind in get_args(kinds))


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """A span of a document that answers a question."""

    doc_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold item, which is found at any of several equally good spans."""

    any: tuple[GoldSpan, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A question and its gold items.

    `lang` is the language that its figures are also listed under, such as `fr`, or `fr > en` for a
    question in French about a text in English; "" if the set names none. `kind` is such a group,
    too: what the question was made from, such as `heading`, or `heading (exact words)` if the
    document that answers has its words in a row.
    """

    id: str
    text: str
    gold: tuple[Gold, ...]
    lang: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Documents and questions about them; `notes` are warnings of one line each."""

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    notes: tuple[str, ...] = ()


def read_set(folder: Path) -> QuestionSet:
    """Read and check a question set; raises `UsageError` with the file, the line and the fault."""
    for name in ("corpus.jsonl", "queries.jsonl"):
        if not (folder / name).is_file():
            raise UsageError(f"{folder}: not a question set; {name} is missing")
    documents = tuple(_documents(folder / "corpus.jsonl"))
    if not documents:
        raise UsageError(f"{folder / 'corpus.jsonl'}: contains no document")
    sizes = {document.uri: len(document.text) for document in documents}
    queries = tuple(_queries(folder / "queries.jsonl", sizes))
    if not queries:
        raise UsageError(f"{folder / 'queries.jsonl'}: contains no query")
    return QuestionSet(folder.resolve().name, documents, queries)


def _documents(path: Path) -> Iterator[Document]:
    seen: set[str] = set()
    for where, row in read_rows(path):
        uri, text = required_text(row, "doc_id", where), required_text(row, "text", where)
        if uri in seen:
            raise UsageError(f"{where}: doc_id {uri!r} occurs twice")
        seen.add(uri)
        if "marks" in row:
            kind, marks = "", _marks(row["marks"], len(text), where)
        else:
            kind, marks = structure(text)
        yield Document(
            uri=uri,
            text=text,
            title=_optional_text(row, "title", where),
            lang=_optional_text(row, "lang", where),
            metadata={**_metadata(row, where), **({"format": kind} if kind else {})},
            marks=marks,
            chunks=_spans(row.get("chunks"), len(text), where),
        )


def corpus_row(document: Document) -> dict[str, Any]:
    """Return a document as a line of `corpus.jsonl`, from which the same document is read."""
    chunks = {} if document.chunks is None else {"chunks": document.chunks}
    return {
        "doc_id": document.uri,
        "title": document.title,
        "text": document.text,
        "lang": document.lang,
        "metadata": dict(document.metadata),
        "marks": [asdict(mark) for mark in document.marks],
        **chunks,
    }


def write_set(
    folder: Path, documents: Iterable[Document], questions: Iterable[dict[str, Any]]
) -> None:
    """Write a question set, whose questions are lines of `queries.jsonl`.

    Raises `UsageError` if the folder has a question set.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {"corpus.jsonl": map(corpus_row, documents), "queries.jsonl": questions}
    for name in files:
        if (folder / name).exists():
            raise UsageError(f"{folder / name}: exists already; name another folder with --out")
    for name, rows in files.items():
        data = b"".join(orjson.dumps(row) + b"\n" for row in rows)
        _native.replace_file(folder, name, data)


def _metadata(row: dict[str, Any], where: str) -> dict[str, Any]:
    metadata = row.get("metadata", {})
    if not isinstance(metadata, dict):
        raise UsageError(f'{where}: metadata must be an object, as in {{"date": "2024-05-01"}}')
    return metadata


def _queries(path: Path, sizes: dict[str, int]) -> Iterator[Query]:
    seen: set[str] = set()
    rows = list(read_rows(path))
    if rows and not any(row.get("gold") for _, row in rows):
        raise UsageError(
            f'{path}: no question has gold; list the spans of the answers in "gold", or a quote '
            "of it in questions.jsonl"
        )
    for where, row in rows:
        query_id = required_text(row, "query_id", where)
        if query_id in seen:
            raise UsageError(f"{where}: query_id {query_id!r} occurs twice")
        seen.add(query_id)
        gold = row.get("gold")
        if not isinstance(gold, list) or not gold:
            raise UsageError(f"{where}: query {query_id!r} has no gold; give at least one span")
        yield Query(
            query_id,
            required_text(row, "query", where),
            tuple(_gold(g, sizes, where) for g in gold),
            question_language(row, where),
            _question_kind(row, where),
        )


def _question_kind(row: dict[str, Any], where: str) -> str:
    kind, exact = _optional_text(row, "kind", where), row.get("exact", False)
    if not isinstance(exact, bool):
        raise UsageError(f"{where}: exact must be true or false")
    return f"{kind} (exact words)".lstrip() if exact else kind


def _gold(item: Any, sizes: dict[str, int], where: str) -> Gold:
    spans = item.get("any") if isinstance(item, dict) else None
    if not isinstance(spans, list) or not spans:
        raise UsageError(f'{where}: a gold item must be {{"any": [span, ...]}}')
    return Gold(tuple(_gold_span(span, sizes, where) for span in spans))


def _gold_span(span: Any, sizes: dict[str, int], where: str) -> GoldSpan:
    if not isinstance(span, dict):
        raise UsageError(f'{where}: a span must be {{"doc_id", "start", "end"}}')
    doc_id, start, end = span.get("doc_id"), span.get("start"), span.get("end")
    if not isinstance(doc_id, str) or doc_id not in sizes:
        raise UsageError(f"{where}: gold has doc_id {doc_id!r}, which is not in the corpus")
    # `isinstance` would accept true and false as numbers.
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= sizes[doc_id]:
        raise UsageError(
            f"{where}: gold {start}..{end} is outside {doc_id!r} of {sizes[doc_id]} characters"
        )
    return GoldSpan(doc_id, start, end)


def _optional_text(row: dict[str, Any], name: str, where: str) -> str:
    value = row.get(name) or ""
    if not isinstance(value, str):
        raise UsageError(f"{where}: {name} must be a string")
    return value


def _marks(marks: Any, size: int, where: str) -> tuple[Mark, ...]:
    wanted = f'{where}: marks must be [{{"kind", "start", "end", "label", "level"}}, ...]'
    if not isinstance(marks, list):
        raise UsageError(wanted)
    try:
        found = tuple(Mark(**mark) for mark in marks)
    except TypeError:
        raise UsageError(wanted) from None
    for mark in found:
        offsets = (mark.start, mark.end, mark.level)
        if mark.kind not in _MARK_KINDS or not isinstance(mark.label, str):
            raise UsageError(wanted)
        if (
            any(type(each) is not int for each in offsets)
            or not 0 <= mark.start <= mark.end <= size
        ):
            raise UsageError(f"{where}: a mark is outside the text of {size} characters")
    return found


def _spans(spans: Any, size: int, where: str) -> tuple[tuple[int, int], ...] | None:
    if spans is None:
        return None
    try:
        pairs = tuple((int(start), int(end)) for start, end in spans)
    except (TypeError, ValueError):
        raise UsageError(f"{where}: chunks must be [[start, end], ...]") from None
    for start, end in pairs:
        if not 0 <= start < end <= size:
            raise UsageError(
                f"{where}: chunk {start}..{end} is outside the text of {size} characters"
            )
    return pairs


def read_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the location ("file:line") and the object of each line of a file of JSON lines."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{path}:{number}"
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise UsageError(f"{where}: not JSON: {error}") from None
            if not isinstance(row, dict):
                raise UsageError(f"{where}: not a JSON object")
            yield where, row


def question_language(row: dict[str, Any], where: str) -> str:
    """Return the language of a question, as `Query.lang` has it.

    "lang" is the language of the text that answers, "query_lang" that of the question; each is
    the other by default.
    """
    named = {name: row.get(name) for name in ("lang", "query_lang")}
    for name, value in named.items():
        if value is not None and not (isinstance(value, str) and value.strip()):
            raise UsageError(f'{where}: {name} must be the name of a language, such as "fr"')
    answer, asked = named["lang"] or named["query_lang"], named["query_lang"] or named["lang"]
    return (asked if asked == answer else f"{asked} > {answer}") or ""


def required_text(row: dict[str, Any], name: str, where: str) -> str:
    """Return a text of a row; raises `UsageError` if there is none."""
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{where}: {name} is missing or empty")
    return value
