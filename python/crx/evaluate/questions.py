"""A question set of one's own documents: which chunks are asked about, and what is kept.

Chunks are drawn from every document in turn, so that a long one does not crowd out the others, and
always the same ones for the same documents and seed: a set that was broken off goes on where it
stopped.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from crx import _native
from crx.errors import UsageError
from crx.ingest.split import split
from crx.protocols import Generator
from crx.registry import load_embedder
from crx.retrieve.search import read_marks
from crx.types import Document

# What a question is asked about: about a paragraph, and no stump of one.
CHUNK_CHARS = 800
LEAST_CHARS = 200
# A longer question is no question that somebody types.
MAX_CHARS = 300
# Characters of a document's opening that the generator sees besides the chunk.
OPENING_CHARS = 500
SEED = 7

PROMPT = """\
A document opens so:
<opening>
{opening}
</opening>
Here is a passage of it:
<passage>
{passage}
</passage>
Write one question that a person might type who does not have the document at hand and whom this \
passage answers. Say what or whom it is about; do not speak of "the passage" or "the document". \
Answer only with the question."""

_POINTS = re.compile(r"\b(?:this|the|above|given|following) (?:passage|excerpt|text|chunk)\b", re.I)
_WORD = re.compile(r"\w{2}")


@dataclass(frozen=True, slots=True)
class Sampled:
    """A stretch of a document to ask about."""

    document: Document
    start: int
    end: int

    @property
    def id(self) -> str:
        """The name of a question about it."""
        return f"{self.document.uri}#{self.start}-{self.end}"

    @property
    def text(self) -> str:
        return self.document.text[self.start : self.end]


def sample(documents: Sequence[Document], *, seed: int = SEED) -> Iterator[Sampled]:
    """Yield every chunk of the documents, one of each in turn, in an order drawn by `seed`."""
    drawn = []
    for document in sorted(documents, key=lambda each: each.uri):
        spans = _spans(document)
        random.Random(f"{seed}:{document.uri}").shuffle(spans)
        drawn.append([Sampled(document, start, end) for start, end in spans])
    random.Random(seed).shuffle(drawn)
    for turn in range(max(map(len, drawn), default=0)):
        yield from (spans[turn] for spans in drawn if turn < len(spans))


def ask(generator: Generator, sampled: Sampled) -> str:
    """Return the question that a generator asks, or "" where what it wrote is none."""
    opening = sampled.document.text[:OPENING_CHARS]
    prompt = PROMPT.replace("{opening}", opening).replace("{passage}", sampled.text)
    return tidy("".join(generator.generate(prompt)))


def tidy(answer: str) -> str:
    """Return the question of an answer: one line of words that does not point at a passage."""
    lines = [line.strip().strip("\"'*") for line in answer.strip().splitlines() if line.strip()]
    if len(lines) != 1 or len(lines[0]) > MAX_CHARS:
        return ""
    return lines[0] if _WORD.search(lines[0]) and not _POINTS.search(lines[0]) else ""


class QuestionFile:
    """A folder that a question set is written into, one question after another."""

    def __init__(self, folder: Path, documents: Iterable[Document]) -> None:
        """Make the folder, or go on with the one there is.

        Raises `UsageError` where it holds the questions of other documents.
        """
        folder.mkdir(parents=True, exist_ok=True)
        corpus = folder / "corpus.jsonl"
        data = b"".join(orjson.dumps(_row(document)) + b"\n" for document in documents)
        if corpus.exists() and corpus.read_bytes() != data:
            raise UsageError(
                f"{corpus}: holds other documents than those here; name another folder with --out"
            )
        if not corpus.exists():
            aside = corpus.with_suffix(".tmp")
            aside.write_bytes(data)
            aside.replace(corpus)
        self._path = folder / "queries.jsonl"
        self.ids = self._mend()

    def add(self, sampled: Sampled, question: str) -> None:
        """Write a question whose answer is the stretch."""
        place = {"doc_id": sampled.document.uri, "start": sampled.start, "end": sampled.end}
        row = {"query_id": sampled.id, "query": question, "gold": [{"any": [place]}]}
        with self._path.open("ab") as file:
            file.write(orjson.dumps(row) + b"\n")
        self.ids.add(sampled.id)

    def _mend(self) -> set[str]:
        """Return the ids of the questions there are; a last line that was broken off is dropped."""
        if not self._path.exists():
            return set()
        data = self._path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            self._path.write_bytes(whole)
        return {orjson.loads(line)["query_id"] for line in whole.splitlines() if line.strip()}


def stored_documents(store: _native.Store) -> list[Document]:
    """Return the documents that an index holds."""
    return [
        Document(
            uri=row.uri,
            text=store.text(row.doc),
            title=row.title,
            lang=row.lang,
            marks=tuple(read_marks(store.marks(row.doc))),
        )
        for row in store.documents()
    ]


def _spans(document: Document) -> list[tuple[int, int]]:
    chunks = split(
        document,
        token_starts=load_embedder("hashed").token_starts(document.text),
        budget=CHUNK_CHARS,
        in_chars=True,
    )
    long = [chunk for chunk in chunks if len(chunk.text.strip()) >= LEAST_CHARS]
    return [(chunk.start, chunk.end) for chunk in long or chunks]


def _row(document: Document) -> dict[str, str]:
    return {"doc_id": document.uri, "title": document.title, "text": document.text}
