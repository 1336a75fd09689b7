"""Rule of the late interaction: the index's embedder reranks what the reranker does not read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from crx.protocols import Reranker
from crx.retrieve.query_language import is_foreign, unread_langs
from crx.retrieve.rules.rerank import Rerank
from crx.retrieve.search_state import Search


@dataclass(frozen=True, slots=True, kw_only=True)
class LateInteraction:
    """The best candidates are ordered by the states of their tokens, too.

    `reranker` does not read the query: its weight and its limit of time are used. `load` returns
    the embedder's, None if it has none. The numbers were chosen on half of the questions of four
    sets (`models/reranker_multilingual`). With more candidates the order is no better, nor where
    the second one has less than `least_share` of the score of the first.
    """

    name: ClassVar[str] = "late_interaction"
    reranker: Rerank
    load: Callable[[], Reranker | None]
    reads: int = 5
    least_share: float = 0.8

    def applies(self, search: Search) -> bool:
        """Return whether the best candidates are close, in a language of the documents."""
        scores = search.ranking.scores[:2].tolist()
        if search.parameters.embedder is None or len(scores) < 2:
            return False
        langs = search.searcher.langs
        if scores[1] < self.least_share * scores[0] or is_foreign(search.query, langs):
            return False
        return bool(unread_langs(self.reranker.reranker, search.query, langs))

    def apply(self, search: Search) -> Search:
        """Return the search with its best candidates reranked, as they were if nothing does."""
        states = self.load()
        if states is None:
            return search
        rule = replace(self.reranker, reranker=states, min_relevance=0, asked=False)
        after = rule.apply(search)
        rankings = {**search.rankings, self.name: after.rankings[rule.name]}
        return after._replace(rankings=rankings)
