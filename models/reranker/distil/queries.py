"""Queries with six candidates each, for the teachers to score.

Two sources: the questions of `questions.jsonl` with the chunks that `pairs.py` mined for them, and
the contexts of documents with contexts, as queries for the chunks of those documents. A context is
shortened to its first clause, to a few keywords, or to its first words; half of them would
otherwise be longer than any query.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from excerpt import STOP_WORDS

import crx
from crx.ingest.readers.structure import structure
from crx.types import Document, Hit

# Packages that are not used in training.
HELD_OUT = frozenset({"flask", "zarr", "shapely", "redis", "tokenizers", "py4j"})
PACKAGE_QUERIES = 2000
DOCUMENT_QUERIES = {"contract": 650, "doc": 350, "py": 100}
HELD_QUERIES = 120
# Candidates of each kind beside the answer: `pairs.py` explains them.
NEGATIVES = {"ranked": 3, "beside": 1, "asked": 1}
HELD_NEGATIVES = {"ranked": 6, "beside": 2, "asked": 0}
CANDIDATES = 6
# A share of the texts has its path or nothing instead of its outline.
PREFIXES = ("outline",) * 7 + ("path", "bare", "bare")
SEED = 17


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk, the first line of its outline, and whether it answers."""

    head: str
    text: str
    gold: bool


@dataclass(frozen=True, slots=True)
class QueryList:
    """A query and its candidates."""

    query: str
    candidates: tuple[Candidate, ...]


def write_lists(pairs: Path, documents: Path, *, train: Path, held_out: Path) -> None:
    """Write the lists to train on and those that are held out, one JSON object a line."""
    chance = random.Random(SEED)
    with pairs.open(encoding="utf-8") as lines:
        examples = [json.loads(line) for line in lines]
    examples = [each for each in examples if each["ranked"] and each["answers"]]
    chance.shuffle(examples)
    used = [each for each in examples if each["package"] not in HELD_OUT][:PACKAGE_QUERIES]
    held = [each for each in examples if each["package"] in HELD_OUT][:HELD_QUERIES]
    lists = [_package_list(each, NEGATIVES, chance) for each in used]
    lists += _document_lists(documents, chance)
    chance.shuffle(lists)
    _write(train, lists)
    _write(held_out, [_package_list(each, HELD_NEGATIVES, chance) for each in held])


def read_lists(path: Path) -> list[QueryList]:
    """Return the lists of a file."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        QueryList(row["query"], tuple(Candidate(**each) for each in row["candidates"]))
        for row in rows
    ]


def _write(path: Path, lists: Sequence[QueryList]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(each)) + "\n" for each in lists)


def _package_list(
    example: dict[str, Any], negatives: dict[str, int], chance: random.Random
) -> QueryList:
    prefix = chance.choice(PREFIXES)

    def candidate(text: dict[str, str], *, gold: bool) -> Candidate:
        head = text["outline"].partition("\n")[0] if prefix == "outline" else ""
        if prefix == "path":
            head = f"{example['package']}/{text['path']}"
        return Candidate(head, text["text"], gold)

    answers = example["answers"]
    answer = answers[0] if chance.random() < 0.8 else chance.choice(answers)
    candidates = [candidate(answer, gold=True)]
    for kind, count in negatives.items():
        drawn = chance.sample(example[kind], min(count, len(example[kind])))
        candidates += [candidate(text, gold=False) for text in drawn]
    return QueryList(example["question"], tuple(candidates))


def _document_lists(documents: Path, chance: random.Random) -> list[QueryList]:
    with documents.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    titles = {row["doc"]: _title(row) for row in rows}
    chunks = [(row, chunk) for row in rows for chunk in row["chunks"]]
    chance.shuffle(chunks)
    left = dict(DOCUMENT_QUERIES)
    lists = []
    settings = {"embedder": "none", "chunk_chars": 800}
    with (
        TemporaryDirectory() as folder,
        crx.open(Path(folder) / "index.crx", settings=settings) as index,
    ):
        index.add_documents(list(_as_documents(rows, titles)), contexts="outline")
        for row, chunk in chunks:
            query = _shorten(chunk["context"], chance)
            if not left[row["kind"]] or " " not in query:
                continue
            if row["kind"] == "contract" and chance.random() < 0.4:
                query = f"{titles[row['doc']]}: {query}"
            hits = index.search(query, k=20, window=0, legs=("bm25",)).hits
            if len(hits) < CANDIDATES:
                continue
            lists.append(_hit_list(query, hits, row["doc"], chunk, chance))
            left[row["kind"]] -= 1
    return lists


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


def _hit_list(
    query: str, hits: Sequence[Hit], doc: str, chunk: dict[str, Any], chance: random.Random
) -> QueryList:
    """Return the chunk of a context and others, half of them from BM25's first eight."""

    def answers(hit: Hit) -> bool:
        common = min(hit.end, chunk["end"]) - max(hit.start, chunk["start"])
        return hit.uri == doc and common > 0.4 * (hit.end - hit.start)

    own = [hit for hit in hits if answers(hit)][:1]
    others = [hit for hit in hits if not answers(hit)]
    drawn = chance.sample(others[:8], min(3, len(others)))
    count = CANDIDATES - 3 - len(own)
    drawn += chance.sample(others[8:], min(count, len(others[8:])))
    return QueryList(
        query,
        tuple(
            Candidate(hit.outline.partition("\n")[0], hit.text, hit in own)
            for hit in [*own, *drawn]
        ),
    )
