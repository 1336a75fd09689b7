"""Baselines that a generator writes: generic summaries and hypothetical answers.

They are alternatives to contexts from the literature. Each text is generated once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from crx import _native
from crx.ingest.embed import Situated, embed_situated
from crx.protocols import Embedder, Generator
from crx.types import Chunk, Context, Document, Ranking
from crx_evaluate.datasets import Query
from crx_evaluate.query_runner import QueryRunner, TimedRanking
from crx_evaluate.timed_models import QueryVectors

# Characters of a document that are summarised; they fit the window of most local models.
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
    """A contextualizer that gives every chunk the same summary of its document."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._summaries: dict[str, str] = {}

    @property
    def fingerprint(self) -> str:
        return f"summary:1:{SUMMARY_CHARS}:{self._generator.fingerprint}"

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield the summary of the document, once for each chunk."""
        text = self.summarise(document)
        context = Context(text) if text else Context.rejected("empty")
        yield from (context for _ in chunks)

    def summarise(self, document: Document) -> str:
        """Return a summary of the first `SUMMARY_CHARS` characters of a document."""
        opening = document.text[:SUMMARY_CHARS]
        if opening not in self._summaries:
            prompt = SUMMARY_PROMPT.replace("{document}", opening)
            self._summaries[opening] = "".join(self._generator.generate(prompt)).strip()
        return self._summaries[opening]


class SummaryIndex:
    """A dense index of document summaries; a document's chunks follow in reading order."""

    def __init__(
        self,
        store: _native.Store,
        documents: Sequence[Document],
        *,
        summaries: Summaries,
        embedder: Embedder,
        vectors: QueryVectors,
    ) -> None:
        rows = [store.document(document.uri) for document in documents]
        stored = [(row, each) for row, each in zip(rows, documents, strict=True) if row is not None]
        texts = [Situated("", summaries.summarise(document)) for _, document in stored]
        self._matrix, _ = embed_situated(embedder, texts)
        self._chunks = [store.chunk_keys(row.doc) for row, _ in stored]
        self._vectors = vectors

    def search(self, query: Query, *, k: int) -> TimedRanking:
        """Return the first k chunks of the documents with the nearest summaries."""
        (vector,) = self._vectors.embed([query.text], query=True)
        started = time.perf_counter()
        nearest, _ = _native.dense_topk(self._matrix, vector, k=len(self._matrix))
        keys = np.concatenate([self._chunks[at] for at in nearest.tolist()])[:k]
        scores = np.arange(len(keys), 0, -1, dtype=np.float32)
        ms = 1000 * (time.perf_counter() - started) + self._vectors.ms(query.text)
        return TimedRanking(Ranking(keys, scores), ms)


class HypotheticalAnswers:
    """HyDE (Gao, Ma, Lin, Callan 2022): dense search with a generated answer.

    The query vector is the mean of the question's and the answer's; the answer is embedded as a
    passage.
    """

    def __init__(self, generator: Generator, *, embedder: Embedder, vectors: QueryVectors) -> None:
        self._generator = generator
        self._embedder = embedder
        self._vectors = vectors

    def search(self, query: Query, runner: QueryRunner) -> TimedRanking:
        """Return the ranking of the dense leg for the hypothetical answer of a question."""
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
        return runner.search_dense(name)
