"""Reranking of a fused ranking, its cache of scores, and reranking in a search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_model import make_model

import crx
from crx._models.card import write_card
from crx._models.store import add_model
from crx._services.destination import Destination
from crx.errors import ModelError, UsageError
from crx.retrieve.rules.rerank import RerankResult, rerank
from crx.retrieve.score_cache import ScoreCache
from crx.retrieve.search_notes import NO_SUCH_WORDS
from crx.types import Ranking
from crx_runtimes.overlap import OverlapReranker


class TableReranker:
    """A reranker with fixed scores by text; each takes `ms` of a fake clock."""

    def __init__(self, scores: dict[str, float], *, ms: float = 0) -> None:
        self._scores = scores
        self._ms = ms
        self.texts_scored: list[str] = []
        self.now = 0.0

    @property
    def fingerprint(self) -> str:
        return "table"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts_scored += texts
        self.now += len(texts) * self._ms / 1000
        return np.array([self._scores[text] for text in texts], np.float32)


class SlowingReranker(TableReranker):
    """A reranker that takes ten times as long for each text from the `after`-th on."""

    def __init__(self, scores: dict[str, float], *, ms: float, after: int) -> None:
        super().__init__(scores, ms=ms)
        self._after = after

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        slow = max(0, len(self.texts_scored) + len(texts) - self._after)
        self.now += 9 * min(slow, len(texts)) * self._ms / 1000
        return super().score(query, texts)


class RemoteReranker(TableReranker):
    """A reranker that is a service."""

    destination = Destination("rerank.example.com")


class FailingReranker(TableReranker):
    """A reranker that fails."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        raise ModelError("table: failed; add it again")


def fused_of(*keys: int) -> Ranking:
    return Ranking(np.array(keys, np.int64), np.linspace(1, 0.5, len(keys), dtype=np.float32))


def reranked(table: TableReranker, *, weight: float = 0.5, **options: object) -> RerankResult:
    fused = fused_of(30, 10, 20)
    texts = ["c", "a", "b"]
    return rerank("q", fused, texts, reranker=table, weight=weight, **options)  # type: ignore[arg-type]


RISING = {"c": 0.2, "a": 0.4, "b": 0.9}


# The logits of these scores are -2, 0 and 1: relative to each other 0, 2/3 and 1.
LOGITS = {"c": 1 / (1 + math.exp(2)), "a": 0.5, "b": 1 / (1 + math.exp(-1))}


@pytest.mark.parametrize(
    ("weight", "keys"),
    # The relative fused scores of c, a and b are 1, 1/2 and 0.
    [(0.42, [30, 10, 20]), (0.47, [10, 30, 20]), (0.59, [10, 20, 30]), (0.61, [20, 10, 30])],
)
def test_the_order_is_by_the_sum_of_relative_logits_and_fused_scores(
    weight: float, keys: list[int]
) -> None:
    found = reranked(TableReranker(LOGITS), weight=weight)
    assert found.scored.keys.tolist() == [20, 10, 30]
    assert found.scored.scores == pytest.approx([LOGITS["b"], 0.5, LOGITS["c"]])
    assert found.ranking.keys.tolist() == keys
    assert found.ranking.scores == pytest.approx([1, 0.75, 0.5])
    assert (len(found.scored.keys), found.notes) == (3, ())


@pytest.mark.parametrize(("weight", "keys"), [(0.0, [30, 10, 20]), (1.0, [20, 10, 30])])
def test_weight_0_gives_the_fused_order_and_weight_1_the_rerankers(
    weight: float, keys: list[int]
) -> None:
    assert reranked(TableReranker(RISING), weight=weight).ranking.keys.tolist() == keys


def test_equal_scores_keep_the_fused_order() -> None:
    found = reranked(TableReranker(dict.fromkeys("abc", 0.5)), weight=1.0)
    assert found.ranking.keys.tolist() == found.scored.keys.tolist() == [30, 10, 20]


def test_keys_without_a_score_follow_in_the_fused_order() -> None:
    keys = range(100, 0, -1)
    texts = [str(key) for key in keys[:10]]
    table = TableReranker({text: int(text) / 1000 for text in texts})
    found = rerank("q", fused_of(*keys), texts, reranker=table, weight=1.0)
    assert found.ranking.keys.tolist() == list(keys)
    assert (np.diff(found.ranking.scores) < 0).all()


def test_a_time_limit_scores_what_fits_and_notes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [str(key) for key in range(150)]
    table = TableReranker(dict.fromkeys(texts, 0.5), ms=5)
    monkeypatch.setattr(
        "crx.retrieve.timed_scoring.time", SimpleNamespace(perf_counter=lambda: table.now)
    )
    found = rerank("q", fused_of(*range(150)), texts, reranker=table, weight=0.5, ms=300)
    assert table.texts_scored == texts[: len(found.scored.keys)]
    assert 50 <= len(found.scored.keys) <= 60
    assert found.notes == (f"reranked {len(found.scored.keys)} of 150 within 300 ms",)


@pytest.mark.parametrize("after", [0, 2, 10, 30, 50, 58])
def test_a_reranker_that_becomes_slow_ends_soon_after_the_time_limit(
    after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_THREADS", "2")
    texts = [str(key) for key in range(150)]
    table = SlowingReranker({text: 0.1 + int(text) % 7 / 10 for text in texts}, ms=5, after=after)
    options = {"reranker": table, "weight": 0.5}
    found = rerank("q", fused_of(*range(150)), texts, ms=300, clock=lambda: table.now, **options)  # type: ignore[arg-type]
    assert table.now <= 0.4
    scored = texts[: len(found.scored.keys)]
    unlimited = rerank("q", fused_of(*range(150)), scored, **options)  # type: ignore[arg-type]
    assert found.ranking.keys.tolist() == unlimited.ranking.keys.tolist()


def test_batches_grow_with_the_threads_and_those_of_a_service_with_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CRX_THREADS", "4")
    texts = [str(key) for key in range(40)]

    def batches(table: TableReranker) -> list[int]:
        sizes: list[int] = []
        score = table.score

        def recorded(query: str, texts: Sequence[str]) -> NDArray[np.float32]:
            sizes.append(len(texts))
            return score(query, texts)

        table.score = recorded  # type: ignore[method-assign]
        rerank(
            "q",
            fused_of(*range(40)),
            texts,
            reranker=table,
            weight=0.5,
            ms=300,
            clock=lambda: table.now,
        )
        return sizes

    scores = dict.fromkeys(texts, 0.5)
    assert batches(TableReranker(scores, ms=5)) == [2] + [4] * 9 + [2]
    assert batches(TableReranker(scores, ms=0.5)) == [2, 4, 8, 16, 10]
    assert batches(RemoteReranker(scores, ms=5)) == [2, 29, 9]


def test_a_few_candidates_that_were_scored_count_and_a_note_says_how_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [str(key) for key in range(30)]
    table = TableReranker({text: 0.1 + int(text) / 100 for text in texts}, ms=70)
    monkeypatch.setattr(
        "crx.retrieve.timed_scoring.time", SimpleNamespace(perf_counter=lambda: table.now)
    )
    found = rerank("q", fused_of(*range(30)), texts, reranker=table, weight=1.0, ms=300)
    assert table.texts_scored == texts[:4]
    assert found.ranking.keys.tolist() == [3, 2, 1, 0, *range(4, 30)]
    assert found.notes == ("reranked 4 of 30 within 300 ms",)


def test_two_candidates_are_scored_however_slow_the_machine_is() -> None:
    table = TableReranker(RISING, ms=900)
    found = reranked(table, weight=1.0, ms=300, clock=lambda: table.now)
    assert (len(found.scored.keys), table.texts_scored) == (2, ["c", "a"])
    assert found.ranking.keys.tolist() == [10, 30, 20]


def test_a_note_tells_what_was_sent_to_a_service() -> None:
    table, cache = RemoteReranker(RISING), ScoreCache()
    sent = "sending 1 query, 3 chunks (3 bytes of text) to rerank.example.com"
    assert reranked(table, cache=cache).notes == (sent,)
    assert reranked(table, cache=cache).notes == ()
    assert reranked(table, in_place=np.ones(3, bool)).notes == ()


def test_a_note_tells_what_was_sent_to_a_service_that_failed() -> None:
    class FailingService(FailingReranker):
        destination = Destination("rerank.example.com")

    assert reranked(FailingService(RISING)).notes == (
        "sending 1 query, 3 chunks (3 bytes of text) to rerank.example.com",
        "not reranked: table: failed; add it again",
    )


def test_a_time_limit_that_is_not_reached_is_not_mentioned(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TableReranker(RISING, ms=1)
    monkeypatch.setattr(
        "crx.retrieve.timed_scoring.time", SimpleNamespace(perf_counter=lambda: table.now)
    )
    found = reranked(table, ms=1000)
    assert (found.notes, found.limit) == ((), "")


def test_candidates_in_place_are_not_scored_and_the_others_are_ordered_among_themselves() -> None:
    table = TableReranker({"a": 0.1, "c": 0.3, "e": 0.9})
    found = rerank(
        "q",
        fused_of(1, 2, 3, 4, 5),
        ["a", "b", "c", "d", "e"],
        reranker=table,
        weight=1.0,
        in_place=np.array([False, True, False, True, False]),
    )
    assert found.ranking.keys.tolist() == [5, 2, 3, 4, 1]
    assert (table.texts_scored, len(found.scored.keys), found.limit) == (["a", "c", "e"], 3, "")


def test_a_threshold_drops_what_scores_below_it_and_notes_how_many() -> None:
    found = reranked(TableReranker(RISING), min_relevance=0.3)
    assert found.ranking.keys.tolist() == [20, 10]
    assert found.notes == ("dropped 1 of 3 below a relevance of 0.3",)


def test_a_reranker_that_fails_leaves_the_fused_order_and_a_note() -> None:
    found = reranked(FailingReranker({}), min_relevance=0.3)
    assert found.ranking.keys.tolist() == [30, 10, 20]
    assert (len(found.scored.keys), found.scored.keys.tolist()) == (0, [])
    assert found.notes == ("not reranked: table: failed; add it again",)


@pytest.mark.parametrize("score", [0.0, 1.0, float("nan"), -3.0])
def test_a_score_outside_0_to_1_is_a_failure(score: float) -> None:
    (note,) = reranked(TableReranker({"a": 0.5, "b": score, "c": 0.5})).notes
    assert note == "not reranked: table: gave a score that is not between 0 and 1"


def test_a_weight_outside_of_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match=r"from 0 to 1, not 1\.5"):
        reranked(TableReranker(RISING), weight=1.5)


def test_the_cache_scores_no_pair_twice() -> None:
    table, cache = TableReranker(RISING), ScoreCache()
    first = cache.score(table, "q", ["a", "b", "a"])
    second = cache.score(table, "q", ["c", "a"])
    assert table.texts_scored == ["a", "b", "c"]
    assert first == pytest.approx([0.4, 0.9, 0.4])
    assert second == pytest.approx([0.2, 0.4])


def test_the_cache_separates_queries_and_rerankers() -> None:
    table, cache = TableReranker(RISING), ScoreCache()
    cache.score(table, "q", ["a"])
    cache.score(table, "r", ["a"])
    assert table.texts_scored == ["a", "a"]
    assert cache.score(OverlapReranker(), "q", ["a"]) == [0.25]


def test_the_cache_evicts_the_least_recently_used_score() -> None:
    table, cache = TableReranker(RISING), ScoreCache(max_entries=2)
    for text in "abac":
        cache.score(table, "q", [text])
    cache.score(table, "q", ["a", "b"])
    assert table.texts_scored == ["a", "b", "c", "b"]
    assert len(cache) == 2


def declaring(languages: tuple[str, ...]) -> TableReranker:
    table = TableReranker(RISING)
    table.languages = languages  # type: ignore[attr-defined]
    return table


def test_a_query_in_a_language_that_the_reranker_does_not_declare_is_not_reranked() -> None:
    table = declaring(("en", "fr"))
    found = rerank(
        "什么",
        fused_of(2, 1),
        ["a", "b"],
        reranker=table,
        weight=1.0,
        langs=["zh"],
    )
    assert (found.ranking.keys.tolist(), len(found.scored.keys), table.texts_scored) == (
        [2, 1],
        0,
        [],
    )
    assert found.limit == "not reranked: the query is in zh, the reranker reads en, fr"
    assert found.notes == ()


@pytest.mark.parametrize("languages", [(), ("en",), ("fr", "en")])
def test_a_reranker_that_declares_the_language_or_none_is_used(
    languages: tuple[str, ...],
) -> None:
    assert len(reranked(declaring(languages), langs=["en", "zh"]).scored.keys) == 3


SETTINGS = {"embedder": "hashed", "chunk_chars": 60, "reranker": "overlap"}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "whales.md").write_text(
        "# Whales\n\nThe blue whale is the largest animal.\n\n"
        "## Food\n\nBlue whales eat krill, four tonnes a day.\n\n"
        "## Song\n\nHumpbacks sing for hours, and the song changes.\n"
    )
    return tmp_path / "whales.md"


def make_index(docs: Path, **options: object) -> crx.Index:
    index = crx.open(docs.parent / "notes.crx", settings={**SETTINGS, **options})
    index.add(docs)
    return index


def test_a_hit_has_the_rank_and_score_of_the_reranker(docs: Path) -> None:
    result = make_index(docs).search("krill tonnes")
    stage = result.hits[0].stages["rerank"]
    assert stage.rank == 1
    assert stage.score == pytest.approx(2.5 / 3)
    assert list(result.hits[0].stages) == ["bm25", "dense", "fuse", "rerank"]
    assert "rerank" in (result.timings_ms or {})


def test_a_search_without_hits_is_not_reranked(docs: Path) -> None:
    result = make_index(docs).search("zebra", legs=("bm25",))
    assert (result.hits, result.notes) == ((), (NO_SUCH_WORDS,))


def test_a_call_overrides_whether_hits_are_reranked(docs: Path) -> None:
    index = make_index(docs)
    stages = [index.search("krill", rerank=asked).hits[0].stages for asked in (None, True, False)]
    assert ["rerank" in each for each in stages] == [True, True, False]
    index = make_index(docs, reranker="")
    assert "rerank" not in index.search("krill").hits[0].stages
    assert index.status().reranker == ""


def test_candidates_beyond_the_depth_have_no_score_of_the_reranker(docs: Path) -> None:
    hits = make_index(docs, **{"rank.rerank.depth": 1}).search("whale song").hits
    assert ["rerank" in hit.stages for hit in hits] == [True] + [False] * (len(hits) - 1)
    assert len(hits) > 1


def test_a_relevance_threshold_without_a_reranker_is_an_error(docs: Path) -> None:
    result = make_index(docs, **{"rank.rerank.min_relevance": 0.8}).search("krill tonnes")
    assert [hit.stages["rerank"].score > 0.8 for hit in result.hits] == [True]
    with pytest.raises(UsageError, match=r"min_relevance is 0\.8, and only a"):
        make_index(docs, reranker="", **{"rank.rerank.min_relevance": 0.8}).search("krill")
    with pytest.raises(UsageError, match="only a reranker's scores"):
        make_index(docs, **{"rank.rerank.min_relevance": 0.8}).search("krill", rerank=False)


@pytest.mark.parametrize("name", ["rank.rerank.min_relevance", "rank.rerank.weight"])
def test_a_share_above_1_is_refused(name: str, docs: Path) -> None:
    with pytest.raises(UsageError, match=f"{name} must be at most 1, not 2"):
        make_index(docs, **{name: 2})


def test_a_reranker_that_fails_in_a_search_leaves_the_hits_and_a_note(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = make_index(docs)
    plain = index.search("krill", rerank=False)
    monkeypatch.setattr(OverlapReranker, "score", FailingReranker({}).score)
    result = index.search("krill")
    assert [hit.key for hit in result.hits] == [hit.key for hit in plain.hits]
    assert "not reranked: table: failed; add it again" in result.notes


def test_a_repeated_query_uses_the_cached_scores(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = make_index(docs)
    first = index.search("krill")
    monkeypatch.setattr(OverlapReranker, "score", FailingReranker({}).score)
    assert index.search("krill").hits == first.hits


def test_the_languages_of_the_models_card_decide_whether_it_reranks(
    docs: Path, tmp_path: Path
) -> None:
    card = add_model(make_model(tmp_path / "english", head=True), into=tmp_path / "store")
    folder = tmp_path / "store" / card.name
    write_card(folder, replace(card, languages=("en",)))
    index = make_index(docs, reranker=f"onnx:{folder}")
    note = "not reranked: the query is in zh or ja, the reranker reads en"
    assert note in index.search("鲸鱼吃什么", rerank=True).notes
    assert note not in index.search("鲸鱼吃什么").notes


def test_an_english_reranker_scores_no_french_question_and_no_french_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OverlapReranker, "languages", ("en",), raising=False)
    english = "The server restarts when a package of the network is installed, and the log says so."
    french = "Le serveur redémarre lorsque un paquet du réseau est installé, et le journal le dit."
    with crx.open(tmp_path / "notes.crx", settings=SETTINGS) as index:
        index.add_documents(
            [crx.Document("en", english, lang="en"), crx.Document("fr", french, lang="fr")]
        )
        asked = index.search("installer un paquet", rerank=True)
        other = index.search("log network paquet", rerank=True)
    assert ["rerank" in hit.stages for hit in asked.hits] == [False] * len(asked.hits)
    assert "not reranked: the query is in fr, the reranker reads en" in asked.notes
    assert {hit.uri: "rerank" in hit.stages for hit in other.hits} == {"en": True, "fr": False}
    assert any("hits in fr, which the reranker does not read" in note for note in other.notes)


def test_prose_is_reranked_by_default_and_source_code_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CRX_RERANKER")
    (tmp_path / "whales.md").write_text("# Whales\n\nBlue whales eat krill, tonnes a day.\n")
    (tmp_path / "feed.py").write_text(
        "def feed(whale, krill):\n    whale.eat(krill[0], tonnes=4)\n    return whale.hunger == 0\n"
    )
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "hashed"}) as index:
        index.add(tmp_path)
        stages = {hit.uri[-2:]: hit.stages for hit in index.search("whales krill tonnes").hits}
        assert {uri: "rerank" in each for uri, each in stages.items()} == {"md": True, "py": False}
        assert "rerank" not in index.search("krill", legs=("bm25",)).hits[0].stages


def test_scores_of_an_earlier_search_do_not_make_the_next_batch_larger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CRX_THREADS", "8")
    texts = [str(key) for key in range(100)]
    cache = ScoreCache()

    def seconds() -> float:
        table = TableReranker(dict.fromkeys(texts, 0.5), ms=28)
        rerank(
            "q",
            fused_of(*range(100)),
            texts,
            reranker=table,
            weight=0.5,
            ms=300,
            cache=cache,
            clock=lambda: table.now,
        )
        return table.now

    assert max(seconds() for _ in range(6)) <= 0.3 + 8 * 0.028
