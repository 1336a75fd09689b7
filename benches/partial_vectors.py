"""What a search finds while only some chunks have a vector: shares of 0, 10, 50 and 100%.

The vectors are those that `crx embed` makes first; those of the other chunks are hidden from the
dense leg. Recall at 1 and 5 and MRR of the legs fused, in percent, beside BM25 alone. `--random`
hides random ones instead, as after edits of many documents. Reranking is off.
Run: python benches/partial_vectors.py SET INDEX...    (sets of `crx eval run`, each with its index)

INDEX is the folder that `crx eval run SET --index INDEX` made.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from harness import commit, processor
from numpy.typing import NDArray

import crx
from crx import _native
from crx._index.file_searcher import FileSearcher
from crx.ingest.embedding_order import order_pending
from crx.retrieve.ports import DenseLeg, Found, Keys, Legs
from crx.retrieve.rows import ChunkRow
from crx_evaluate.datasets import Query, read_set
from crx_evaluate.pipeline_config import Legs as LegsName
from crx_evaluate.pipeline_config import PipelineConfig
from crx_evaluate.query_runner import QueryRunner, run_queries
from crx_evaluate.timed_models import QueryVectors

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
METRICS = ("@1", "@5", "MRR")


@dataclass(frozen=True)
class PartialDense:
    """The dense leg among the chunks that have their vector."""

    dense: DenseLeg
    embedded: Keys
    chunks: int
    faults: Sequence[str] = ()

    def search(self, query: NDArray[np.float32], *, k: int) -> Found:
        """Return the best k of these chunks: all are ranked, and the others are left out."""
        keys, scores = self.dense.search(query, k=self.chunks)
        kept = np.isin(keys, self.embedded)
        return keys[kept][:k], scores[kept][:k]

    def spread(self, queries: NDArray[np.float32]) -> None:
        """Return None: which are near is not asked of a part."""


@dataclass(frozen=True)
class PartialSearcher:
    """An index in which some chunks have no vector yet."""

    whole: FileSearcher
    embedded: Keys

    @property
    def documents(self) -> _native.Store:
        return self.whole.documents

    @property
    def terms(self) -> _native.Lexical:
        return self.whole.terms

    @property
    def langs(self) -> Sequence[str]:
        return self.whole.langs

    def legs(self, where: Mapping[str, object] | None) -> Legs:
        legs = self.whole.legs(where)
        return legs._replace(dense=PartialDense(legs.dense, self.embedded, len(self.whole.dense)))

    def has_document(self, where: Mapping[str, object]) -> bool:
        return self.whole.has_document(where)

    def matching(
        self, pattern: _native.Pattern, *, k: int, where: Mapping[str, object] | None
    ) -> tuple[Keys, Literal["complete", "count", "time"]]:
        return self.whole.matching(pattern, k=k, where=where)

    def without_vector(self, keys: Keys) -> Keys:
        return keys[~np.isin(keys, self.embedded)]

    def chunks(self, keys: Iterable[int]) -> Sequence[ChunkRow]:
        return self.whole.chunks(keys)


def embedding_order(store: _native.Store, *, shuffled: bool) -> NDArray[np.int64]:
    """Return the keys of all chunks as `crx embed` would embed them, or in a random order."""
    documents = store.documents()
    chunks = [
        (key, row.doc, ordinal)
        for row in documents
        for ordinal, key in enumerate(store.chunk_keys(row.doc).tolist())
    ]
    keys = order_pending(np.array(chunks, np.int64).reshape(-1, 3), documents)
    if shuffled:
        random.Random(5).shuffle(keys)
    return np.array(keys, np.int64)


def measure(
    queries: Sequence[Query], index: crx.Index, legs: LegsName, *, share: float, shuffled: bool
) -> list[float]:
    """Return the metrics of legs, with vectors for a share of the chunks."""
    with index.searcher() as searcher:
        keys = embedding_order(searcher.store, shuffled=shuffled)
        runner = QueryRunner(
            PartialSearcher(searcher, keys[: round(share * len(keys))]),
            models=index.search_models,
            vectors=VECTORS.setdefault(index.name, QueryVectors(index.embedder)),
        )
        rows = [PipelineConfig(contexts="outline", legs=legs)]
        values = run_queries(runner, queries, rows)
    return [100 * float(values[name].mean()) for name in ("recall@1", "recall@5", "mrr")]


# The vectors of the queries of each index, by its name.
VECTORS: dict[str, QueryVectors] = {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="SET INDEX")
    parser.add_argument("--random", action="store_true", dest="shuffled")
    given = parser.parse_args()
    print(f"{processor()}, commit {commit()}\n")
    print(f"| set | {' | '.join(('BM25', *(f'{share:.0%}' for share in SHARES)))} |")
    print("|---" * (len(SHARES) + 2) + "|")
    for folder, path in zip(given.folders[::2], given.folders[1::2], strict=True):
        questions = read_set(folder)
        with crx.open(path, create=False) as index:
            cells = [measure(questions.queries, index, "bm25", share=1.0, shuffled=False)]
            for share in SHARES:
                cells.append(
                    measure(
                        questions.queries, index, "hybrid", share=share, shuffled=given.shuffled
                    )
                )
        shown = [" ".join(f"{value:.1f}" for value in cell) for cell in cells]
        print(f"| {questions.name} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
