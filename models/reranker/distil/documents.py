"""Query lists of documents with contexts: their contexts, headings, and topics of contracts."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from excerpt import STOP_WORDS
from lists import CANDIDATES, Candidate, QueryList
from topics import ask_about, read_topics

import crx
from crx.ingest.readers.structure import structure
from crx.types import Document, Hit, Mark

# Queries made of contexts and of headings, by the kind of their documents.
CONTEXT_QUERIES = {"contract": 1100, "doc": 700, "py": 250}
HEADING_QUERIES = {"contract": 150, "doc": 300, "py": 50}
TOPICS_OF_A_CONTRACT = 34
HELD_DOCUMENTS = {"contract": 6, "doc": 10, "py": 3}
HELD_QUERIES = {"contract": 60, "doc": 40, "py": 0}
HELD_CANDIDATES = 9
DEPTH = 20


def document_lists(path: Path, chance: random.Random) -> tuple[list[QueryList], list[QueryList]]:
    """Return the lists to train on, and those of other documents that are held out."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    chance.shuffle(rows)
    held = [
        row
        for kind, count in HELD_DOCUMENTS.items()
        for row in [each for each in rows if each["kind"] == kind][:count]
    ]
    # Those that are held out are searched among all documents, the others by themselves.
    names = {row["doc"] for row in held}
    used = [row for row in rows if row["doc"] not in names]
    with _Documents(used) as documents:
        lists = list(_context_lists(documents, used, CONTEXT_QUERIES, CANDIDATES, chance))
        lists += _heading_lists(documents, used, chance)
        lists += _topic_lists(documents, used, chance)
    with _Documents(rows) as documents:
        kept = list(_context_lists(documents, held, HELD_QUERIES, HELD_CANDIDATES, chance))
    return lists, [each for each in kept if any(one.gold for one in each.candidates)]


class _Documents:
    """Documents in an index of BM25 with outlines."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.titles = {row["doc"]: _title(row) for row in rows}
        self._folder = TemporaryDirectory()
        settings = {"embedder": "none", "chunk_chars": 800}
        self._index = crx.open(Path(self._folder.name) / "index.crx", settings=settings)
        self._index.add_documents(list(_as_documents(rows, self.titles)), contexts="outline")

    def __enter__(self) -> _Documents:
        return self

    def __exit__(self, *_: object) -> None:
        self._index.close()
        self._folder.cleanup()

    def search(self, query: str) -> list[Hit]:
        return list(self._index.search(query, k=DEPTH, window=0, legs=("bm25",)).hits)


def _context_lists(
    documents: _Documents,
    rows: Sequence[dict[str, Any]],
    counts: dict[str, int],
    candidates: int,
    chance: random.Random,
) -> Iterator[QueryList]:
    chunks = [(row, chunk) for row in rows for chunk in row["chunks"]]
    chance.shuffle(chunks)
    left = dict(counts)
    for row, chunk in chunks:
        query = _shorten(chunk["context"], chance)
        if not left[row["kind"]] or " " not in query:
            continue
        if row["kind"] == "contract" and chance.random() < 0.5:
            query = f"{_name(row, documents, chance)}: {query}"
        hits = documents.search(query)
        if len(hits) < candidates:
            continue
        own = [hit for hit in hits if _answers(hit, row["doc"], chunk)]
        others = [hit for hit in hits if hit not in own]
        yield _draw(query, row["kind"], own[:1], others, candidates, chance)
        left[row["kind"]] -= 1


def _heading_lists(
    documents: _Documents, rows: Sequence[dict[str, Any]], chance: random.Random
) -> Iterator[QueryList]:
    """Yield headings, some with the title of their document, as queries without an answer."""
    headings = [
        (row, mark.label)
        for row, document in zip(rows, _as_documents(rows, documents.titles), strict=True)
        for mark in _headings(document)
    ]
    chance.shuffle(headings)
    left = dict(HEADING_QUERIES)
    for row, heading in headings:
        if not left[row["kind"]] or len(heading.split()) < 2:
            continue
        query = heading
        if chance.random() < 0.4:
            query = f"{_name(row, documents, chance)} {heading}"
        hits = documents.search(query)
        if len(hits) >= CANDIDATES:
            yield _draw(query, row["kind"], [], hits, CANDIDATES, chance)
            left[row["kind"]] -= 1


def _topic_lists(
    documents: _Documents, rows: Sequence[dict[str, Any]], chance: random.Random
) -> Iterator[QueryList]:
    for row in rows:
        if row["kind"] == "contract":
            for topic in chance.sample(read_topics(), TOPICS_OF_A_CONTRACT):
                query = ask_about(topic, _name(row, documents, chance), chance)
                hits = documents.search(query)
                if len(hits) >= CANDIDATES:
                    yield _draw(query, row["kind"], [], hits, CANDIDATES, chance)


def _name(row: dict[str, Any], documents: _Documents, chance: random.Random) -> str:
    """Return a document's title, its last part, or the beginning of its digest."""
    title = documents.titles[row["doc"]]
    form = chance.random()
    if form < 0.25 or row["kind"] != "contract":
        return title
    digest = re.split(r", (?:about|under|for|on)\b| \(", row["digests"][0])[0]
    return title.rpartition("-")[2] if form < 0.4 else " ".join(digest.split()[:20])


def _headings(document: Document) -> list[Mark]:
    return [mark for mark in document.marks if mark.kind == "heading"]


def _answers(hit: Hit, doc: str, chunk: dict[str, Any]) -> bool:
    common = min(hit.end, chunk["end"]) - max(hit.start, chunk["start"])
    return hit.uri == doc and common > 0.4 * (hit.end - hit.start)


def _draw(
    query: str,
    kind: str,
    own: Sequence[Hit],
    others: Sequence[Hit],
    count: int,
    chance: random.Random,
) -> QueryList:
    """Return a list of an answer, if there is one, and others, half of them from BM25's first 8."""
    best = chance.sample(others[:8], min(count // 2, len(others[:8])))
    rest = others[8:]
    drawn = best + chance.sample(rest, min(count - len(own) - len(best), len(rest)))
    candidates = [
        Candidate(hit.outline.partition("\n")[0], hit.text, hit in own) for hit in [*own, *drawn]
    ]
    return QueryList(query, tuple(candidates), kind)


def _title(row: dict[str, Any]) -> str:
    source = row["source"]
    name = source.get("file") or source.get("path") or row["doc"]
    return str(name).rpartition(".")[0].replace("_", " ")


def _as_documents(rows: Sequence[dict[str, Any]], titles: dict[str, str]) -> Iterator[Document]:
    for row in rows:
        kind, marks = structure(row["text"])
        yield Document(
            uri=row["doc"],
            text=row["text"],
            title=titles[row["doc"]],
            metadata={"format": kind} if kind else {},
            marks=marks,
        )


def _shorten(context: str, chance: random.Random) -> str:
    """Return the first clause of a context, 3 to 7 of its keywords, or its first words."""
    form = chance.random()
    if form < 0.3:
        return re.split(r"[,:;(]", context)[0]
    words = re.findall(r"[\w'’.-]+", context)
    if form < 0.6:
        keywords = [word for word in words if word.lower() not in STOP_WORDS]
        count = chance.randint(3, 7)
        start = chance.randint(0, max(0, len(keywords) - count))
        return " ".join(keywords[start : start + count])
    return " ".join(words[: chance.randint(6, 18)])
