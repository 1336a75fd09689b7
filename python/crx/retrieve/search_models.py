"""What an index searches with: its models, the caches of their results, and its settings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from crx._lru_cache import CacheCounts
from crx._per_process import PerProcess
from crx.config import Settings
from crx.errors import ModelError, NotInstalled, Unavailable
from crx.protocols import Embedder, Remote, Reranker, TokenReranking
from crx.retrieve._legs.leg_search import note_left_out
from crx.retrieve.parameters import RankingWeights
from crx.retrieve.ports import Searcher
from crx.retrieve.query_vectors import CachedEmbedder, QueryEmbedder, QueryVectorCache
from crx.retrieve.request import SearchRequest, refuse_threshold
from crx.retrieve.rules.rerank import Rerank
from crx.retrieve.score_cache import ScoreCache
from crx.retrieve.search import make_rules, run_search
from crx.retrieve.search_state import RankingRule, SearchParameters
from crx.types import LEGS, Result


class SearchModels:
    """The embedder and the reranker of an index, loaded on first use, with their caches."""

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: PerProcess[Embedder],
        load_reranker: Callable[[], Reranker],
        load_rules: Callable[[], tuple[RankingRule, ...]] = tuple,
    ) -> None:
        """`load_rules` returns the rules of plugins."""
        self._settings = settings
        self._rules = PerProcess(load_rules)
        self._without_reranker = PerProcess(partial(self._make_rules, None))
        self._embedder = embedder
        self._reranker = PerProcess(lambda: _warm(load_reranker()))
        self._token_reranker = PerProcess(self._load_token_reranker)
        self._vectors = PerProcess(QueryVectorCache)
        self._scores = PerProcess(ScoreCache)
        self.weights = RankingWeights.of(settings)

    @property
    def reranker(self) -> Reranker:
        """The reranker; raises `ModelError`."""
        return self._reranker.get()

    def cache_counts(self) -> dict[str, CacheCounts]:
        """Return the hits and misses of the caches of this process, by name."""
        return {
            "query_vectors": self._vectors.get().counts,
            "rerank_scores": self._scores.get().counts,
        }

    def search(self, request: SearchRequest, searcher: Searcher, *, has_vectors: bool) -> Result:
        """Return the passages that answer a request."""
        parameters = self.parameters(request, has_vectors=has_vectors)
        return run_search(request, parameters=parameters, searcher=searcher)

    def parameters(self, request: SearchRequest, *, has_vectors: bool) -> SearchParameters:
        """Return the parameters of a search.

        Without vectors the dense leg is left out, and so it is, with a note, if BM25 is asked for
        and the embedder's service is down or its weights are not installed. Raises `UsageError`
        for a `min_relevance` of a search that is not reranked.
        """
        embedder: QueryEmbedder | None = None
        left_out = ""
        if has_vectors and "dense" in request.legs:
            try:
                embedder = CachedEmbedder(self._embedder.get(), self._vectors.get())
            except (NotInstalled, Unavailable) as error:
                if "bm25" not in request.legs:
                    raise
                left_out = note_left_out(error)
        rule = self._rerank_rule(request)
        return self.parameters_of(embedder, rerank=rule)._replace(left_out=left_out)

    def parameters_of(
        self, embedder: QueryEmbedder | None, *, rerank: Rerank | None
    ) -> SearchParameters:
        """Return the parameters of a search by an embedder and a reranker, or without."""
        return SearchParameters(
            weights=self.weights,
            k=self._settings.k,
            budget_tokens=self._settings.budget_tokens,
            window_tokens=self._settings.window_tokens,
            embedder=embedder,
            rules=self._make_rules(rerank) if rerank else self._without_reranker.get(),
        )

    def _make_rules(self, rerank: Rerank | None) -> tuple[RankingRule, ...]:
        return make_rules(
            self._settings,
            rerank=rerank,
            load_token_reranker=lambda: self._token_reranker.get()[0],
            further=self._rules.get(),
        )

    def _load_token_reranker(self) -> tuple[Reranker | None]:
        """Return the embedder's reranker in a tuple, so that None is kept, too."""
        embedder = self._embedder.get()
        found = embedder.load_token_reranker() if isinstance(embedder, TokenReranking) else None
        return (found and _warm(found),)

    def _rerank_rule(self, request: SearchRequest) -> Rerank | None:
        settings, asked = self._settings, request.rerank
        # A search of one leg shows the ranking of that leg.
        default = bool(settings.reranker) and set(request.legs) == set(LEGS)
        if not (default if asked is None else asked):
            refuse_threshold(settings.rank_rerank_min_relevance)
            return None
        return Rerank(
            reranker=self.reranker,
            reads=settings.rank_rerank_depth,
            weight=settings.rank_rerank_weight,
            ms=settings.rank_rerank_ms,
            min_relevance=settings.rank_rerank_min_relevance,
            cache=self._scores.get(),
            asked=bool(asked),
        )


def _warm(reranker: Reranker) -> Reranker:
    """Let a reranker score once, so that the time of a search counts from warm, and return it.

    A service is sent nothing. One that fails will say so when it is asked for scores.
    """
    if not isinstance(reranker, Remote):
        with suppress(ModelError):
            reranker.score("warm", ["warm"])
    return reranker
