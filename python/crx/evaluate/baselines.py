"""What others do in the place of contexts: generic summaries, hypothetical answers.

Each was found weaker than contexts that situate; here they run beside them. All are written by a
generator, each text once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from crx import _native
from crx.evaluate.asker import Asker, QueryVectors, Timed
from crx.evaluate.datasets import Query
from crx.ingest.embed import Situated, embed_situated
from crx.protocols import Embedder, Generator
from crx.retrieve.search import Ranking
from crx.types import Chunk, Context, Document

# Characters of a document that are summarised: what most local models' windows hold.
SUMMARY_CHARS = 12_000

SUMMARY_PROMPT = """\
<document>
{document}
</document>
Summarise this document in two sentences. Answer only with the summary."""

ANSWER_PROMPT = """\
Write a short passage, as it might stand in a document, that answers this question:
{question}
Answer only with the passage."""


class Summaries:
    """A contextualizer that puts one generic summary of the document before each of its chunks."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._made: dict[str, str] = {}

    @property
    def fingerprint(self) -> str:
        return f"summary:1:{SUMMARY_CHARS}:{self._generator.fingerprint}"

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield the document's summary once a chunk."""
        text = self.of(document)
        context = Context(text) if text else Context.rejected("empty")
        yield from (context for _ in chunks)

    def of(self, document: Document) -> str:
        """Return the summary of a document's opening."""
        opening = document.text[:SUMMARY_CHARS]
        if opening not in self._made:
            prompt = SUMMARY_PROMPT.replace("{document}", opening)
            self._made[opening] = "".join(self._generator.generate(prompt)).strip()
        return self._made[opening]


class SummaryIndex:
    """Documents found by their summaries alone; their chunks follow in reading order."""

    def __init__(
        self,
        store: _native.Store,
        documents: Sequence[Document],
        *,
        summaries: Summaries,
        embedder: Embedder,
        vectors: QueryVectors,
    ) -> None:
        texts = [Situated("", summaries.of(document)) for document in documents]
        self._matrix, _ = embed_situated(embedder, texts)
        rows = [store.document(document.uri) for document in documents]
        self._chunks = [store.chunk_keys(row.doc) for row in rows if row is not None]
        self._vectors = vectors

    def ask(self, query: Query, *, k: int) -> Timed:
        """Return the first k chunks of the documents whose summaries are nearest."""
        (vector,) = self._vectors.embed([query.text], query=True)
        started = time.perf_counter()
        nearest, _ = _native.dense_topk(self._matrix, vector, k=len(self._matrix))
        keys = np.concatenate([self._chunks[at] for at in nearest.tolist()])[:k]
        scores = np.arange(len(keys), 0, -1, dtype=np.float32)
        ms = 1000 * (time.perf_counter() - started) + self._vectors.ms(query.text)
        return Timed(Ranking(keys, scores), ms)


class Hypothetical:
    """HyDE (Gao, Ma, Lin, Callan 2022): the dense leg is asked with an answer that was made up.

    As there, the vector is the mean of the question's and the answer's, the latter embedded as a
    passage would be.
    """

    def __init__(self, generator: Generator, *, embedder: Embedder, vectors: QueryVectors) -> None:
        self._generator = generator
        self._embedder = embedder
        self._vectors = vectors

    def ask(self, query: Query, asker: Asker) -> Timed:
        """Return what the dense leg finds for the question's hypothetical answer."""
        (vector,) = self._vectors.embed([query.text], query=True)
        started = time.perf_counter()
        prompt = ANSWER_PROMPT.replace("{question}", query.text)
        answer = "".join(self._generator.generate(prompt)).strip()
        rows, _ = embed_situated(self._embedder, [Situated("", answer or query.text)])
        mean = vector + rows[0]
        ms = 1000 * (time.perf_counter() - started) + self._vectors.ms(query.text)
        name = f"{prompt}\n{answer}"
        length = float(np.linalg.norm(mean)) or 1.0
        self._vectors.put(name, (mean / length).astype(np.float32), ms=ms)
        return asker.dense(name)
