"""Rules of the order that plugins add."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import crx
from crx.errors import ModelError, UsageError
from crx.retrieve.search_state import Search
from crx.types import Ranking


@dataclass(frozen=True)
class Reverse:
    """The hits in the opposite order, or what `give` makes of the search."""

    name: str = "reverse"
    reads: int = 0
    give: Callable[[Search], object] | None = None

    def applies(self, search: Search) -> bool:
        return len(search.ranking.keys) > 1

    def apply(self, search: Search) -> Search:
        if self.give is not None:
            return self.give(search)  # type: ignore[return-value]
        keys, scores = search.ranking.keys, search.ranking.scores
        return search._replace(ranking=Ranking(keys[::-1].copy(), scores))


def fail(search: Search) -> Search:
    raise KeyError("boost")


def with_lists(search: Search) -> Search:
    return search._replace(ranking=Ranking([1], [1.0]))  # type: ignore[arg-type]


def without_scores(search: Search) -> Search:
    return search._replace(ranking=Ranking(search.ranking.keys, search.ranking.scores[:1]))


def nothing(search: Search) -> None:
    return None


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    """Install a package whose entry point `reverse` returns an object."""

    def put(rule: object) -> None:
        found = EntryPoint("reverse", "crx_reverse:rule", "crx.rules")
        monkeypatch.setattr(EntryPoint, "load", lambda _: lambda: rule)
        monkeypatch.setattr(
            metadata, "entry_points", lambda *, group: [found] * (group == "crx.rules")
        )

    return put


@pytest.fixture
def index(tmp_path: Path) -> Path:
    with crx.open(tmp_path / "i.crx", settings={"embedder": "none", "reranker": ""}) as opened:
        opened.add_documents(
            crx.Document(f"mem:{n}", f"The buoy {n} rings. {'Fog. ' * n}") for n in range(5)
        )
    return tmp_path / "i.crx"


def uris(index: Path, *, without: tuple[str, ...] = (), rules: str = "reverse") -> list[str]:
    settings = {"reranker": "", "rules": rules}
    with crx.open_reader(index, settings=settings) as opened:
        return [hit.uri for hit in opened.search("buoy", without=without).hits]


def test_a_rule_of_a_plugin_orders_hits_after_those_of_crx(
    index: Path, install: Callable[[object], None]
) -> None:
    install(Reverse())
    found = uris(index)
    assert len(found) == 5
    assert found == uris(index, rules="")[::-1]
    assert found == uris(index, without=("reverse",))[::-1]


def test_a_hit_tells_its_rank_after_a_rule_that_changed_the_order(
    index: Path, install: Callable[[object], None]
) -> None:
    install(Reverse())
    with crx.open_reader(index, settings={"reranker": "", "rules": "reverse"}) as opened:
        hits = opened.search("buoy").hits
    assert [hit.stages["reverse"].rank for hit in hits] == [1, 2, 3, 4, 5]
    install(Reverse(give=lambda search: search.noting("as it was")))
    with crx.open_reader(index, settings={"reranker": "", "rules": "reverse"}) as opened:
        hits = opened.search("buoy").hits
    assert not any("reverse" in hit.stages for hit in hits)


@pytest.mark.parametrize(
    ("give", "fact"),
    [
        (fail, "KeyError: 'boost'"),
        (nothing, "TypeError: it returned NoneType, not a Search"),
        (with_lists, "TypeError: its ranking has no arrays of keys and scores"),
        (without_scores, "TypeError: its ranking has (5,) keys for (1,) scores"),
    ],
)
def test_a_rule_that_raises_or_returns_no_order_is_left_out_with_a_note(
    give: Callable[[Search], object], fact: str, index: Path, install: Callable[[object], None]
) -> None:
    install(Reverse(give=give))
    with crx.open_reader(index, settings={"reranker": "", "rules": "reverse"}) as opened:
        result = opened.search("buoy")
    assert [hit.uri for hit in result.hits] == uris(index, rules="")
    (note,) = result.notes
    assert note.kind == "failed"
    assert note == f"the rule reverse failed and is left out: {fact}"


@pytest.mark.parametrize(
    ("rule", "fact"),
    [
        (object(), "returned object, which is not a RankingRule"),
        (Reverse(name="other"), "returned the rule 'other' that reads 0"),
        (Reverse(reads="all"), "returned the rule 'reverse' that reads 'all'"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_rule_is_an_error_that_names_the_plugin(
    rule: object, fact: str, index: Path, install: Callable[[object], None]
) -> None:
    install(rule)
    with pytest.raises(ModelError, match=f'^plugin "reverse" {fact}'):
        uris(index)


def test_a_rule_that_nobody_installed_is_named_with_those_that_there_are(
    index: Path, install: Callable[[object], None]
) -> None:
    install(Reverse())
    with pytest.raises(UsageError, match=r"rules: boost: .*; known: reverse"):
        uris(index, rules="boost")
