"""Rerankers on question sets: recall and mean reciprocal rank of the first candidates, reordered.

    python models/reranker/distil/compare.py SET ... --model NAME [TOKENS] --model ... --index DIR

SET is a folder of questions as `crx eval run` reads it. The candidates are the best chunks of a
search of DIR/SET.crx, an index of the set that `crx eval run --index` made, or of BM25 with
outlines if --index is not given. A model is one of the store, or its folder; with TOKENS it reads
excerpts of so many tokens, otherwise whole chunks as a search gives them. For each number of
candidates a row has recall@1 and @5 and MRR with the weight of a search, the difference of MRR to
no reranking in points with its 95% interval, and the figures of the model alone. `--only-prose`
leaves source code where it is. Scores are kept in the file --scores, pair by pair, so that a run
that was stopped goes on, and one with more candidates scores only those. Speeds are pairs in a
second of processor time on one thread, of all scores in the file.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from excerpt import HEAD_TOKENS
from numpy.typing import NDArray
from score import Scorer

import crx
from crx._models.card import read_card
from crx._models.store import find_model
from crx._native import is_source_code
from crx.retrieve.score_cache import digest_pairs
from crx.types import Hit
from crx_evaluate.datasets import GoldSpan, Query, QuestionSet
from crx_evaluate.metrics import gold_ranks, recall_at_k, reciprocal_rank
from crx_evaluate.quotes import read_questions
from crx_evaluate.score_file import ScoreFile
from crx_evaluate.statistics import difference

Scores = NDArray[np.float32]

WEIGHT = 0.5
WHOLE = 512
# The whole first line of an outline, as a search gives it.
WHOLE_HEAD = 128
SEED = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """A query with the chunks that a search found, best first."""

    query: Query
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A reranker that reads `tokens` tokens of a pair."""

    name: str
    folder: Path
    tokens: int

    @property
    def title(self) -> str:
        return self.name if self.tokens == WHOLE else f"{self.name}, {self.tokens} tokens"

    def score(self, asked: Sequence[Asked], kept: ScoreFile) -> tuple[list[Scores], float]:
        """Return the logits of each query's hits, and the pairs in a second."""
        head_tokens = WHOLE_HEAD if self.tokens == WHOLE else HEAD_TOKENS
        scorer = Scorer(self.folder, tokens=self.tokens, head_tokens=head_tokens)
        fingerprint = f"{read_card(self.folder).fingerprint}, {self.tokens} tokens"
        scores = [_score(scorer, fingerprint, each, kept) for each in asked]
        spent = kept.time_spent(fingerprint)
        return scores, spent.texts / spent.seconds if spent.seconds else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description="compare rerankers on question sets")
    parser.add_argument("sets", type=Path, nargs="+", help="folders of question sets")
    parser.add_argument(
        "--model", nargs="+", action="append", default=[], help="name or folder, tokens of a pair"
    )
    parser.add_argument("--index", type=Path, help="folder of indexes of the sets")
    parser.add_argument("--depth", type=int, nargs="+", default=[20], help="candidates")
    parser.add_argument("--queries", type=int, default=120, help="queries sampled (default: 120)")
    parser.add_argument("--chunk-chars", type=int, default=800, help="characters of a chunk")
    parser.add_argument("--files", type=Path, help="documents of a set of quotes")
    parser.add_argument("--only-prose", action="store_true", help="leave source code where it is")
    parser.add_argument("--scores", type=Path, default=Path(":memory:"), help="file of scores")
    given = parser.parse_args()
    with ScoreFile(given.scores) as kept:
        compare(given, kept)


def compare(given: argparse.Namespace, kept: ScoreFile) -> None:
    """Print a table for each set."""
    models = [read_model(each) for each in given.model]
    for folder in given.sets:
        questions = read_questions(folder, files=given.files if is_quoted(folder) else None)
        asked = list(search(folder, questions, given, max(given.depth)))
        none = [measure(each.query, each.hits) for each in asked]
        print(f"\n{folder.name}, {len(asked)} questions\n")
        print("| reranker | candidates | fused | MRR | alone |\n|---|---|---|---|---|")
        print(f"| none | | {figures(none)} | | |", flush=True)
        for model in models:
            scores, speed = model.score(asked, kept)
            for depth in given.depth:
                rows, alone = (
                    [
                        measure(each.query, rerank(each.hits, logits, weight, depth, given))
                        for each, logits in zip(asked, scores, strict=True)
                    ]
                    for weight in (WEIGHT, 1.0)
                )
                gain = difference([row[-1] for row in rows], [row[-1] for row in none])
                points = f"{100 * gain.mean:+.1f} [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]"
                print(
                    f"| {model.title} | {depth} | {figures(rows)} | {points} | {figures(alone)} |",
                    flush=True,
                )
            print(f"{model.title}: {speed:.0f} pairs a second", flush=True)


def is_quoted(folder: Path) -> bool:
    """Return whether a set is a list of quotes, whose documents are elsewhere."""
    return not (folder / "corpus.jsonl").exists()


def read_model(given: Sequence[str]) -> Model:
    """Return the model of a name or folder, and of the tokens after it."""
    name, tokens = given[0], int(given[1]) if len(given) > 1 else WHOLE
    folder = Path(name) if Path(name).is_dir() else find_model(name)
    return Model(folder.name, folder, tokens)


def search(
    folder: Path, questions: QuestionSet, given: argparse.Namespace, depth: int
) -> Iterator[Asked]:
    """Yield a sample of the queries of a set with the chunks that a search finds."""
    queries = list(questions.queries)
    if len(queries) > given.queries:
        queries = random.Random(SEED).sample(queries, given.queries)
    if given.index is not None:
        settings = {"reranker": ""}
        with crx.open(given.index / f"{folder.name}.crx", settings=settings) as index:
            yield from _search(index, queries, depth, ("bm25", "dense"))
        return
    settings = {"embedder": "none", "chunk_chars": given.chunk_chars}
    with (
        TemporaryDirectory() as scratch,
        crx.open(Path(scratch) / "index.crx", settings=settings) as index,
    ):
        index.add_documents(questions.documents, contexts="outline")
        yield from _search(index, queries, depth, ("bm25",))


def _search(
    index: crx.Index, queries: Sequence[Query], depth: int, legs: Sequence[str]
) -> Iterator[Asked]:
    for query in queries:
        result = index.search(query.text, k=depth, window=0, legs=tuple(legs))
        yield Asked(query, tuple(result.hits))


def _score(scorer: Scorer, fingerprint: str, asked: Asked, kept: ScoreFile) -> Scores:
    """Return the logits of a query's hits, those that are not kept newly scored and then kept."""
    heads = [hit.outline.partition("\n")[0] for hit in asked.hits]
    texts = [hit.text for hit in asked.hits]
    pairs = list(zip(heads, texts, strict=True))
    keys = digest_pairs(fingerprint, asked.query.text, ["\n".join(pair) for pair in pairs])
    known = kept.find(keys)
    missing = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in known}
    if missing:
        started = time.process_time()
        new_heads, new_texts = zip(*missing.values(), strict=True)
        fresh = scorer.score(asked.query.text, new_heads, new_texts)
        seconds = time.process_time() - started
        new = dict(zip(missing, fresh.tolist(), strict=True))
        characters = sum(len(head) + len(text) for head, text in missing.values())
        kept.add(fingerprint, new, seconds=seconds, characters=characters)
        known |= new
    return np.array([known[key] for key in keys], np.float32)


def rerank(
    hits: Sequence[Hit], logits: Scores, weight: float, depth: int, given: argparse.Namespace
) -> list[Hit]:
    """Return hits in the order of a search: relative logits and scores, combined by weight."""
    order = np.arange(len(hits))
    moved = np.array(
        [
            at
            for at in range(min(depth, len(hits)))
            if not (given.only_prose and is_source_code(hits[at].text))
        ],
        np.int64,
    )
    if len(moved):
        scores = np.array([hits[at].score for at in moved])
        values = weight * _relative(logits[moved]) + (1 - weight) * _relative(scores)
        order[moved] = moved[np.argsort(-values, kind="stable")]
    return [hits[at] for at in order]


def measure(query: Query, hits: Sequence[Hit]) -> list[float]:
    """Return recall@1 and @5 and the reciprocal rank of a ranking."""
    ranks = gold_ranks([GoldSpan(hit.uri, hit.start, hit.end) for hit in hits], query.gold)
    return [*(recall_at_k(ranks, k) for k in (1, 5)), reciprocal_rank(ranks)]


def figures(rows: Sequence[Sequence[float]]) -> str:
    """Return the means of recall in percent, and of the reciprocal rank."""
    first, fifth, rank = np.mean(rows, axis=0)
    return f"{100 * first:.1f} {100 * fifth:.1f}, {rank:.3f}"


def _relative(values: NDArray[np.floating]) -> NDArray[np.floating]:
    spread = values.max() - values.min()
    relative: NDArray[np.floating] = (values - values.min()) / (spread or 1)
    return relative


if __name__ == "__main__":
    main()
