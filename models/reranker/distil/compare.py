"""Reranking of BM25's best chunks by whole chunks and by excerpts, on question sets.

    python models/reranker/distil/compare.py SET ... --model FOLDER --tokens 96 [--files FOLDER]

SET is a folder of questions as `crx eval run` reads it, FOLDER a model of the store. Prints
recall@1, @5 and @20 and MRR of BM25 with outlines and of its first chunks reranked, and the pairs
that were scored in a second of processor time. `--code` reranks source code, too, which a search
leaves.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from excerpt import HEAD_TOKENS
from numpy.typing import NDArray
from score import Scorer

import crx
from crx.evaluate.datasets import GoldSpan, Query
from crx.evaluate.metrics import gold_ranks, recall_at_k, reciprocal_rank
from crx.evaluate.quotes import read_questions
from crx.ingest.source_code import is_source_code
from crx.types import Hit

DEPTH = 20
WEIGHTS = (0.0, 0.3, 0.5, 0.7, 1.0)
CHUNK_CHARS = 800
SEED = 3


def main() -> None:
    parser = argparse.ArgumentParser(description="measure a reranker on excerpts")
    parser.add_argument("sets", type=Path, nargs="+", help="folders of question sets")
    parser.add_argument("--model", type=Path, required=True, help="folder of a reranker")
    parser.add_argument("--tokens", type=int, default=512, help="tokens of a pair (default: 512)")
    parser.add_argument(
        "--head-tokens",
        type=int,
        default=HEAD_TOKENS,
        help=f"tokens of the outline's first line (default: {HEAD_TOKENS})",
    )
    parser.add_argument("--queries", type=int, default=120, help="queries sampled (default: 120)")
    parser.add_argument("--files", type=Path, help="documents of a set of quotes")
    parser.add_argument("--code", action="store_true", help="rerank source code, too")
    given = parser.parse_args()
    scorer = Scorer(given.model, tokens=given.tokens, head_tokens=given.head_tokens)
    for folder in given.sets:
        asked = list(search_set(folder, given.files, given.queries))
        started = time.process_time()
        scores = [
            scorer.score(
                query.text,
                [hit.outline.partition("\n")[0] for hit in hits],
                [hit.text for hit in hits],
            )
            for query, hits in asked
        ]
        seconds = time.process_time() - started
        pairs = sum(map(len, scores))
        print(f"{folder.name}: {len(asked)} queries, {pairs / seconds:.0f} pairs a second")
        for weight in WEIGHTS:
            rows = [
                measure(query, rerank(hits, logits, weight, code=given.code))
                for (query, hits), logits in zip(asked, scores, strict=True)
            ]
            first, fifth, twentieth, rank = np.mean(rows, axis=0)
            recalls = " ".join(f"{100 * each:5.1f}" for each in (first, fifth, twentieth))
            print(f"  weight {weight}: {recalls}  MRR {rank:.3f}", flush=True)


def search_set(folder: Path, files: Path | None, count: int) -> Iterator[tuple[Query, list[Hit]]]:
    """Yield a sample of the queries of a set with BM25's best chunks."""
    questions = read_questions(folder, files=files)
    queries = list(questions.queries)
    if len(queries) > count:
        queries = random.Random(SEED).sample(queries, count)
    settings = {"embedder": "none", "chunk_chars": CHUNK_CHARS}
    with (
        TemporaryDirectory() as scratch,
        crx.open(Path(scratch) / "index.crx", settings=settings) as index,
    ):
        index.add_documents(questions.documents, contexts="outline")
        for query in queries:
            result = index.search(query.text, k=DEPTH, window=0, legs=("bm25",))
            yield query, list(result.hits)


def rerank(
    hits: Sequence[Hit], logits: NDArray[np.float32], weight: float, *, code: bool
) -> list[Hit]:
    """Return hits in the order of a search: relative logits and scores, combined by weight."""
    order = np.arange(len(hits))
    moved = np.array([at for at in order if code or not is_source_code(hits[at].text)], np.int64)
    if len(moved):
        scores = np.array([hits[at].score for at in moved])
        values = weight * _relative(logits[moved]) + (1 - weight) * _relative(scores)
        order[moved] = moved[np.argsort(-values, kind="stable")]
    return [hits[at] for at in order]


def measure(query: Query, hits: Sequence[Hit]) -> list[float]:
    """Return recall@1, @5 and @20 and the reciprocal rank of a ranking."""
    ranks = gold_ranks([GoldSpan(hit.uri, hit.start, hit.end) for hit in hits], query.gold)
    return [*(recall_at_k(ranks, k) for k in (1, 5, DEPTH)), reciprocal_rank(ranks)]


def _relative(values: NDArray[np.floating]) -> NDArray[np.floating]:
    spread = values.max() - values.min()
    relative: NDArray[np.floating] = (values - values.min()) / (spread or 1)
    return relative


if __name__ == "__main__":
    main()
