"""Creation of a question set from a user's documents.

Chunks are sampled from each document in turn, so that a long document does not dominate. The sample
depends on the documents and the seed alone, so an interrupted set can be continued.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from crx import _native
from crx._show.marks import read_marks
from crx.errors import UsageError
from crx.ingest.split import split
from crx.protocols import Generator
from crx.registry import load_embedder
from crx.types import Document
from crx_evaluate.datasets import corpus_row, read_rows, required_text

# Characters of a chunk to ask about, about a paragraph; shorter ones are used only if all are.
CHUNK_CHARS = 800
MIN_CHUNK_CHARS = 200
# Users type shorter questions.
MAX_QUESTION_CHARS = 300
# Characters of the start of the document that the prompt contains besides the chunk.
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

_MENTIONS_PASSAGE = re.compile(
    r"\b(?:this|the|above|given|following) (?:passage|excerpt|text|chunk)\b", re.I
)
_WORD = re.compile(r"\w{2}")
_SLOT = re.compile(r"\{(?:opening|passage)\}")
# How a line of the file begins.
_LINE_START = b'{"query_id":'


@dataclass(frozen=True, slots=True)
class SampledChunk:
    """A chunk of a document to ask about."""

    document: Document
    start: int
    end: int

    @property
    def id(self) -> str:
        """The id of a question about the chunk."""
        return f"{self.document.uri}#{self.start}-{self.end}"

    @property
    def text(self) -> str:
        return self.document.text[self.start : self.end]

    @property
    def prompt(self) -> str:
        """The prompt that asks for a question about the chunk."""
        texts = {"{opening}": self.document.text[:OPENING_CHARS], "{passage}": self.text}
        # At once: a document may contain "{passage}" itself.
        return _SLOT.sub(lambda slot: texts[slot[0]], PROMPT)


def sample_chunks(documents: Sequence[Document], *, seed: int = SEED) -> Iterator[SampledChunk]:
    """Yield all chunks, one of each document in turn, in a random order that `seed` determines."""
    by_document = []
    for document in sorted(documents, key=lambda each: each.uri):
        spans = _spans(document)
        random.Random(f"{seed}:{document.uri}").shuffle(spans)
        by_document.append([SampledChunk(document, start, end) for start, end in spans])
    random.Random(seed).shuffle(by_document)
    for round_ in range(max(map(len, by_document), default=0)):
        yield from (spans[round_] for spans in by_document if round_ < len(spans))


def generate_question(generator: Generator, sampled: SampledChunk) -> str:
    """Return a generated question about a chunk, or "" if the output is not a question."""
    return extract_question("".join(generator.generate(sampled.prompt)))


def extract_question(answer: str) -> str:
    """Return the question in a generator's output, or "".

    It must be a single line of words that does not mention the passage itself.
    """
    lines = [line.strip().strip("\"'*") for line in answer.strip().splitlines() if line.strip()]
    if len(lines) != 1 or len(lines[0]) > MAX_QUESTION_CHARS:
        return ""
    return lines[0] if _WORD.search(lines[0]) and not _MENTIONS_PASSAGE.search(lines[0]) else ""


class QuestionFile:
    """A question set on disk that questions are appended to."""

    def __init__(self, folder: Path, documents: Iterable[Document]) -> None:
        """Create the folder, or continue the question set in it.

        Raises `UsageError` if it contains questions about other documents, or lines that are no
        questions.
        """
        folder.mkdir(parents=True, exist_ok=True)
        corpus, questions = folder / "corpus.jsonl", folder / "queries.jsonl"
        data = b"".join(orjson.dumps(corpus_row(document)) + b"\n" for document in documents)
        if corpus.exists() and corpus.read_bytes() != data:
            raise UsageError(
                f"{corpus}: was made from other documents; name another folder with --out"
            )
        if not corpus.exists():
            if questions.exists() and questions.stat().st_size:
                raise UsageError(
                    f"{questions}: has questions, and there is no {corpus.name} beside it; "
                    "name another folder with --out"
                )
            _native.replace_file(folder, corpus.name, data)
        self._file = _native.AppendFile.open(folder, questions.name)
        self._complete_last_line(questions)
        self.ids = {required_text(row, "query_id", where) for where, row in read_rows(questions)}

    def add(self, sampled: SampledChunk, question: str) -> None:
        """Append a question whose answer is the chunk."""
        span = {"doc_id": sampled.document.uri, "start": sampled.start, "end": sampled.end}
        row = {"query_id": sampled.id, "query": question, "gold": [{"any": [span]}]}
        self._file.append(orjson.dumps(row) + b"\n")
        self.ids.add(sampled.id)

    def _complete_last_line(self, path: Path) -> None:
        """End the last line, or remove it if it was being written when the process ended."""
        data = self._file.read()
        start = data.rfind(b"\n") + 1
        if start == len(data):
            return
        try:
            orjson.loads(data[start:])
        except orjson.JSONDecodeError as error:
            if data[start:][: len(_LINE_START)] != _LINE_START[: len(data) - start]:
                raise UsageError(f"{path}: the last line is not JSON: {error}") from None
            self._file.truncate(start)
        else:
            self._file.append(b"\n")


def read_documents(store: _native.Store) -> list[Document]:
    """Return the documents of an index."""
    return [
        Document(
            uri=row.uri,
            text=store.text(row.doc),
            title=row.title,
            lang=row.lang,
            metadata=_described(orjson.loads(row.metadata)),
            marks=tuple(read_marks(store.marks(row.doc))),
        )
        for row in store.documents()
    ]


def _described(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata without the path, by which an index knows its files."""
    return {name: value for name, value in metadata.items() if name != "path"}


def _spans(document: Document) -> list[tuple[int, int]]:
    chunks = split(
        document,
        token_starts=load_embedder("hashed").token_starts(document.text),
        budget=CHUNK_CHARS,
        in_chars=True,
    )
    long = [chunk for chunk in chunks if len(chunk.text.strip()) >= MIN_CHUNK_CHARS]
    return [(chunk.start, chunk.end) for chunk in long or chunks]
