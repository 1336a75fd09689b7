"""What an index searches with: weights, models and default sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from crx.protocols import Reranker
from crx.retrieve.query_vectors import QueryEmbedder
from crx.retrieve.score_cache import ScoreCache
from crx.retrieve.timed_scoring import ScoringSpeed


class RankingWeights(NamedTuple):
    """Parameters of BM25, of the two legs and of their fusion; see `config.Settings`."""

    bm25_depth: int
    dense_depth: int
    bm25_weight: float
    dense_weight: float
    score_share: float
    rrf_k: float
    k1: float
    b: float
    outline_weight: float
    context_weight: float


class Reranking(NamedTuple):
    """A reranker and its parameters; see `config.Settings`.

    `asked` tells whether this search asked for it: then a query in a language that the reranker
    does not read is noted. `clock` tells the seconds that `ms` limits; None is the machine's.
    `speed` is that of earlier searches. Without `by_excerpts` candidates are read whole or not at
    all.
    """

    reranker: Reranker
    depth: int
    weight: float
    ms: float
    min_relevance: float
    cache: ScoreCache
    asked: bool = True
    clock: Callable[[], float] | None = None
    speed: ScoringSpeed | None = None
    by_excerpts: bool = True


class Recency(NamedTuple):
    """How much time counts; see `config.Settings`.

    `field` is the field of the metadata that holds the date; "" is the time of the file.
    """

    weight: float
    half_life_days: float
    field: str


class CodeRanking(NamedTuple):
    """How much definitions, paths and kinds of files count in code; see `config.Settings`."""

    definition: float
    names: float
    path: float
    aside: float
    prose: float
    file: float


class SearchParameters(NamedTuple):
    """What an index searches with: its models, weights and default sizes.

    `k`, `budget_tokens` and `window_tokens` are those of `config.Settings`; without an embedder
    the dense leg is left out. `code` is None for a search that shows the ranking of one leg.
    `left_out` is a note if the dense leg is left out because its service is down. `copy_share` is 0
    if chunks that copy better ones stay hits.
    """

    weights: RankingWeights
    k: int
    budget_tokens: int
    window_tokens: int
    embedder: QueryEmbedder | None
    reranking: Reranking | None
    recency: Recency | None = None
    code: CodeRanking | None = None
    left_out: str = ""
    copy_share: float = 0.0
