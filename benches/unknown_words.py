"""Questions of a set that stay above the floor of nearness, and questions about other things.

The floor is that of a query none of whose words is in any document: what is found for it is near in
meaning, or nothing (`crx.retrieve.rules.unknown_words`). Here each question is compared with it as
if no document had its words. Own questions are those about the first documents of a set, which are
the index; foreign ones are those of another set in the same language.

Run: python benches/unknown_words.py SET FOREIGN [--embedder e5-fast@int8] [--documents 20]

SET is a folder with corpus.jsonl and queries.jsonl, FOREIGN such a folder or a file of JSON lines
with a "query" each, of which --lang picks those with that "lang".
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
from harness import commit, processor

import crx
from crx.registry import load_embedder
from crx.retrieve.rules.unknown_words import ARBITRARY_QUERIES, UnknownWords
from crx_evaluate.datasets import read_set

QUESTIONS = 30


def own_questions(folder: Path, uris: set[str]) -> Iterator[str]:
    """Yield the questions of a set that are about some of its documents alone."""
    for query in read_set(folder).queries:
        if {span.doc_id for gold in query.gold for span in gold.any} <= uris:
            yield query.text


def foreign_questions(path: Path, lang: str) -> Iterator[str]:
    """Yield the questions of another set, in a language if it names one for each."""
    file = path / "queries.jsonl" if path.is_dir() else path
    for line in file.read_bytes().splitlines():
        row = orjson.loads(line)
        if not lang or row.get("lang", lang) == lang:
            yield row["query"]


def sample(questions: Iterator[str]) -> list[str]:
    """Return some questions, the same in each run."""
    found = sorted(set(questions))
    return random.Random(1).sample(found, min(QUESTIONS, len(found)))


def count_above(index: crx.Index, questions: Sequence[str], *, embedder: str) -> int:
    """Return how many questions have a chunk above the floor."""
    model = load_embedder(embedder)
    arbitrary = model.embed(ARBITRARY_QUERIES, query=True)
    with index.searcher() as searcher:
        leg = searcher.legs(None).dense
        vectors = model.embed(questions, query=True)
        found = (UnknownWords().keys_above_floor(vector, arbitrary, leg) for vector in vectors)
        return sum(keys is None or len(keys) > 0 for keys in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("set", type=Path)
    parser.add_argument("foreign", type=Path)
    parser.add_argument("--embedder", default="e5-fast@int8")
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--lang", default="", help="of the foreign questions")
    given = parser.parse_args()
    documents = read_set(given.set).documents[: given.documents]
    own = sample(own_questions(given.set, {each.uri for each in documents}))
    foreign = sample(foreign_questions(given.foreign, given.lang))
    with tempfile.TemporaryDirectory() as folder:
        settings = {"embedder": given.embedder, "reranker": ""}
        with crx.open(Path(folder, "i.crx"), settings=settings) as index:
            index.add_documents(documents)
            chunks = index.status().counts["chunks"]
            above = count_above(index, own, embedder=given.embedder)
            beyond = count_above(index, foreign, embedder=given.embedder)
    print(
        f"{given.set.name}, {len(documents)} documents, {chunks} chunks, {given.embedder}, "
        f"{processor()}, commit {commit()}: {above} of {len(own)} own questions are above the "
        f"floor, {len(foreign) - beyond} of {len(foreign)} foreign ones below"
    )


if __name__ == "__main__":
    main()
