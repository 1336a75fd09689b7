"""Stages of a search, each alone and as a list, over chunks in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from memory_searcher import PARAMETERS as BY_WORDS
from memory_searcher import MemoryChunk, MemorySearcher
from numpy.typing import NDArray

from crx._backends.hashed import HashedEmbedder
from crx.errors import Damaged, Unavailable
from crx.retrieve._legs.leg_search import search_legs, search_reachable_legs
from crx.retrieve._query.filter_fields import filter_legs
from crx.retrieve._query.spelling import correct_query
from crx.retrieve.fusion import fuse_legs
from crx.retrieve.hits import read_hits
from crx.retrieve.query_vectors import CachedEmbedder, QueryVectorCache
from crx.retrieve.request import SearchRequest, Where
from crx.retrieve.rules.copies import CopyFolding
from crx.retrieve.rules.recency import Recency
from crx.retrieve.rules.rerank import Rerank
from crx.retrieve.rules.verbatim import Verbatim
from crx.retrieve.score_cache import ScoreCache
from crx.retrieve.search import rank, run_rules, run_search
from crx.retrieve.search_state import ALL, RankingRule, Search, SearchParameters, start_search
from crx.retrieve.widen import widen_hits
from crx.types import LEGS, Ranking
from crx_runtimes.overlap import OverlapReranker

TEXTS = ["Whales eat krill.", "Herons eat fish.", "Bread rises.", "Krill eat algae."]
CHUNKS = [MemoryChunk(key, text, doc=key) for key, text in enumerate(TEXTS, start=1)]
EMBEDDER = CachedEmbedder(HashedEmbedder(), QueryVectorCache())
PARAMETERS = BY_WORDS._replace(embedder=EMBEDDER)
RERANK = Rerank(
    reranker=OverlapReranker(), reads=3, weight=1.0, ms=0, min_relevance=0, cache=ScoreCache()
)
BY_TIME = Recency(reads=150, weight=9.0, half_life_days=1, field="")


class UnreachableEmbedder(HashedEmbedder):
    """An embedder whose service is down."""

    def embed(self, texts: object, *, query: bool = False) -> NDArray[np.float32]:
        raise Unavailable("embedder: connection refused")


def start(
    query: str = "who eats krill?",
    *,
    parameters: SearchParameters = PARAMETERS,
    where: Where | None = None,
    ranked: int = 0,
) -> Search:
    """Return a search of the chunks, of which the first few are ranked."""
    searcher = MemorySearcher(CHUNKS, times={2: 10**18})
    request = SearchRequest(query=query, where=where)
    search = start_search(request, parameters=parameters, searcher=searcher)
    keys = np.arange(1, ranked + 1)
    return search._replace(ranking=Ranking(keys, np.linspace(1, 0.5, ranked, dtype=np.float32)))


def test_the_legs_are_searched_each_for_a_ranking() -> None:
    search = search_legs(start())
    assert {leg: search.rankings[leg].keys.tolist() for leg in LEGS} == {
        "bm25": [1, 2, 3, 4],
        "dense": [1, 2, 3, 4],
    }
    assert set(search.times) == {"bm25", "embed", "dense"}


@pytest.mark.parametrize(("dense_weight", "leg"), [(0.0, "bm25"), (1.0, "dense")])
def test_a_leg_without_weight_is_searched_only_if_it_is_asked_for(
    dense_weight: float, leg: str
) -> None:
    weights = PARAMETERS.weights._replace(dense_weight=dense_weight)
    search = start(parameters=PARAMETERS._replace(weights=weights))
    assert list(search_legs(search).rankings) == [leg]
    for only in LEGS:
        asked = search._replace(request=replace(search.request, legs=(only,)))
        assert list(search_legs(asked).rankings) == [only]
    words = start(parameters=BY_WORDS._replace(weights=weights))
    assert list(search_legs(words).rankings) == ["bm25"]


def test_legs_of_few_chunks_are_searched_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    search = start()
    parallel = search_legs(search)
    monkeypatch.setattr(
        "crx.retrieve._legs.leg_search._submit", lambda _: pytest.fail("in another")
    )
    in_one = search_legs(search._replace(legs=search.legs._replace(few=True)))
    for leg in LEGS:
        assert in_one.rankings[leg].keys.tolist() == parallel.rankings[leg].keys.tolist()


def test_bm25_is_searched_alone_if_the_embedder_cannot_be_reached() -> None:
    embedder = CachedEmbedder(UnreachableEmbedder(), QueryVectorCache())
    search = start(parameters=PARAMETERS._replace(embedder=embedder))
    with pytest.raises(Unavailable):
        search_legs(search)
    found = search_reachable_legs(search)
    assert list(found.rankings) == ["bm25"]
    assert found.notes == ("dense leg left out: embedder: connection refused",)


def test_a_filter_leaves_the_legs_its_documents() -> None:
    search = search_legs(filter_legs(start(where={"year": 2020})))
    assert [len(ranking.keys) for ranking in search.rankings.values()] == [0, 0]


def test_as_many_candidates_are_kept_as_hits_are_asked_for_and_the_others_are_known() -> None:
    search = rank(
        SearchRequest(query="krill?"), parameters=PARAMETERS, searcher=MemorySearcher(CHUNKS)
    )
    assert search.ranking.keys.tolist() == [1, 2, 3]
    assert search.rest.keys.tolist() == [4]


def test_newer_documents_come_first() -> None:
    search = run_rules(start(ranked=4), [BY_TIME])
    assert search.ranking.keys.tolist() == [2, 1, 3]
    assert search.rankings["recency"].keys.tolist() == [2]
    assert search.notes == ("recency: 3 of 4 candidates do not have the time of a file",)


def test_the_reranker_orders_candidates() -> None:
    search = run_rules(start("bread rises", ranked=4), [RERANK])
    assert search.ranking.keys[0] == 3
    assert sorted(search.rankings["rerank"].keys.tolist()) == [1, 2, 3]


def test_an_exact_match_comes_first() -> None:
    search = run_rules(start("herons eat fish", ranked=3), [Verbatim()])
    assert search.ranking.keys.tolist() == [2, 1, 3]


@dataclass(frozen=True)
class Reverse:
    """A rule that reverses the candidates that it reads."""

    reads: int
    name: str = "reverse"

    def applies(self, search: Search) -> bool:
        return True

    def apply(self, search: Search) -> Search:
        keys = search.ranking.keys[::-1]
        return search._replace(ranking=Ranking(keys, search.ranking.scores))


class Failing(Reverse):
    """A rule that fails."""

    def apply(self, search: Search) -> Search:
        raise ZeroDivisionError("no candidate")


class Wrong(Reverse):
    """A rule that returns something else than a search."""

    def apply(self, search: Search) -> Search:
        return search.ranking  # type: ignore[return-value]


def test_a_rule_gets_the_candidates_that_it_reads_and_the_others_follow() -> None:
    search = run_rules(start(ranked=4), [Reverse(2)])
    assert search.ranking.keys.tolist() == [2, 1, 3]
    assert search.rest.keys.tolist() == [4]
    scores = search.ranking.scores.tolist()
    assert scores == sorted(scores, reverse=True)


def test_what_no_later_rule_reads_is_cut_off() -> None:
    search = run_rules(start(ranked=4)._replace(wanted=0), [Reverse(4), Reverse(3)])
    assert search.ranking.keys.tolist() == [2, 3, 4]


class Idle(Reverse):
    """A rule that has nothing to do, or fails when it is asked."""

    def applies(self, search: Search) -> bool:
        if self.name == "failing":
            raise ZeroDivisionError("no candidate")
        return False


def test_a_rule_is_asked_once_whether_it_has_something_to_do() -> None:
    asked = []

    class Asked(Reverse):
        def applies(self, search: Search) -> bool:
            asked.append(len(search.ranking.keys))
            return False

    search = start(ranked=4)
    assert run_rules(search, [Asked(2)]).ranking.keys.tolist() == [1, 2, 3]
    run_rules(search, [Asked(4), Reverse(2)])
    assert asked == [4, 4]


@pytest.mark.parametrize("later", [Idle(4), Idle(4, name="failing")])
def test_a_rule_is_told_how_many_candidates_those_read_that_have_something_to_do(
    later: RankingRule,
) -> None:
    seen = []

    class Telling(Reverse):
        def apply(self, search: Search) -> Search:
            seen.append((len(search.ranking.keys), search.wanted))
            return search

    class Truthy(Reverse):
        def applies(self, search: Search) -> bool:
            return np.True_  # type: ignore[return-value]

    search = run_rules(start(ranked=4), [Telling(ALL), later])
    for counted in (Reverse(4), Truthy(4), Reverse(ALL)):
        run_rules(start(ranked=4), [Telling(ALL), counted])
    assert seen == [(4, 3), (4, 4), (4, 4), (4, 3)]
    assert len(search.notes) == (later.name == "failing")


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        (Failing(9), "ZeroDivisionError: no candidate"),
        (Wrong(9), "TypeError: it returned Ranking, not a Search"),
    ],
)
def test_a_search_goes_on_without_a_rule_that_fails_and_says_so(
    rule: RankingRule, what: str
) -> None:
    search = run_rules(start(ranked=4), [rule, Reverse(2)])
    assert search.ranking.keys.tolist() == [2, 1, 3]
    assert search.notes == (f"the rule reverse failed and is left out: {what}",)
    assert [note.kind for note in search.notes] == ["failed"]


def test_damage_that_a_rule_meets_is_told_and_not_left_out() -> None:
    class Meeting(Reverse):
        def apply(self, search: Search) -> Search:
            raise Damaged("chunk 3 is missing")

    with pytest.raises(Damaged):
        run_rules(start(ranked=4), [Meeting(9)])


def test_a_search_without_a_rule_does_not_run_it() -> None:
    parameters = PARAMETERS._replace(rules=(Reverse(9),))
    orders = [
        rank(
            SearchRequest(query="krill?", without=without),
            parameters=parameters,
            searcher=MemorySearcher(CHUNKS),
        ).ranking.keys.tolist()
        for without in [(), ("reverse",)]
    ]
    assert orders == [[4, 3, 2], [1, 2, 3]]


def test_hits_tell_what_each_stage_gave_them() -> None:
    (hit,) = read_hits(
        fuse_legs(search_legs(start()))._replace(ranking=start(ranked=1).ranking)
    ).hits
    assert (hit.key, hit.text) == (1, TEXTS[0])
    ranks = {name: stage.rank for name, stage in hit.stages.items()}
    assert ranks == {"bm25": 1, "dense": 1, "fuse": 1}


def test_hits_are_widened_to_passages() -> None:
    search = widen_hits(read_hits(start(ranked=2)))
    assert [passage.text for passage in search.passages] == TEXTS[:2]


def test_a_step_without_work_returns_the_search_it_was_given() -> None:
    search = start(ranked=3)
    assert filter_legs(search) is search
    assert run_rules(search, [Verbatim(), CopyFolding(share=0.9)]).times.keys() <= {"copies"}


def test_a_known_word_is_no_mistake() -> None:
    assert correct_query(start()).query == "who eats krill?"


def test_a_search_reads_each_chunk_once() -> None:
    searcher = MemorySearcher(CHUNKS, langs=("en", "vi"))
    parameters = PARAMETERS._replace(rules=(BY_TIME, RERANK, Verbatim()))
    request = SearchRequest(query='who eats "krill eat algae"')
    result = run_search(request, parameters=parameters, searcher=searcher)
    assert result[0].text == "Krill eat algae."
    read = [key for keys in searcher.reads for key in keys]
    assert sorted(read) == [1, 2, 3, 4]


def test_the_times_are_those_of_the_stages_with_work() -> None:
    result = run_search(
        SearchRequest(query="krill?"), parameters=PARAMETERS, searcher=MemorySearcher(CHUNKS)
    )
    assert set(result.timings_ms or {}) == {
        "spelling", "bm25", "embed", "dense", "retrieve", "fuse", "hits", "widen",
    }  # fmt: skip


def test_a_filter_that_no_document_meets_is_explained() -> None:
    request = SearchRequest(query="krill?", where={"yaer": 2020})
    result = run_search(request, parameters=PARAMETERS, searcher=MemorySearcher(CHUNKS))
    assert result.notes == ('nothing found: no document has the field "yaer"; did you mean year?',)
