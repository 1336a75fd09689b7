"""An evaluation measures the search that ships."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx.config import Settings
from crx.errors import UsageError
from crx.retrieve.rules.rerank import Rerank
from crx.retrieve.score_cache import ScoreCache
from crx.retrieve.search import MEASURED, OPTIONAL, RULES, make_rules
from crx_evaluate.datasets import Query
from crx_evaluate.pipeline_config import PipelineConfig, build_grid, find_parent
from crx_evaluate.query_runner import QueryRunner
from crx_evaluate.timed_models import QueryVectors
from crx_runtimes.overlap import OverlapReranker

FOOTER = "To leave the list, send an empty mail to the address below, and nobody reads the answer. "
QUESTIONS = [
    "leave the list", "leve the lsit", '"an empty mail" -buoy', "read_water", "buoy", "anchor?",
    "kettle.read_water", "how is water read", "zxqv", "the harbour master", "mail buoy 7",
]  # fmt: skip


@pytest.fixture
def index(tmp_path: Path) -> crx.Index:
    """An index with copies, source code and words in names."""
    index = crx.open(tmp_path / "i.crx", settings={"embedder": "hashed", "reranker": "overlap"})
    texts = {f"mails/{n}": f"{FOOTER}Sent by buoy {n}." for n in range(40)}
    texts |= {f"src/kettle{n}.py": f"def read_water{n}(k):\n    return k.water\n" for n in range(9)}
    texts |= {f"docs/{n}.md": f"The anchor {n} of the harbour master is heavy." for n in range(30)}
    texts |= {"faq.html": "Water is read by the kettle.", "faq.fr.html": "La bouilloire lit l'eau."}
    index.add_documents(crx.Document(uri, text) for uri, text in texts.items())
    return index


@pytest.mark.parametrize("rerank", [False, True])
def test_the_first_twenty_are_those_of_a_search(index: crx.Index, *, rerank: bool) -> None:
    rule = Rerank(
        reranker=OverlapReranker(), reads=30, weight=0.5, ms=0, min_relevance=0, cache=ScoreCache()
    )
    with index.searcher() as searcher:
        runner = QueryRunner(
            searcher,
            models=index.search_models,
            vectors=QueryVectors(index.embedder),
            rerank=rule,
        )
        for question in QUESTIONS:
            row = PipelineConfig(rerank=rerank)
            measured = runner.rank(question, row).ranking.keys.tolist()
            hits = index.search(question, rerank=rerank).hits
            assert measured[: len(hits)] == [hit.key for hit in hits]
            assert len(set(measured)) == len(measured)


def test_every_rule_can_be_left_out(index: crx.Index) -> None:
    for name in (*OPTIONAL, *RULES):
        assert index.search("leave the list", without=[name]).hits
    with pytest.raises(UsageError, match="stemming: no such rule; without leaves out spelling, "):
        index.search("leave the list", without=["stemming"])


def test_the_names_of_rules_are_those_of_the_list() -> None:
    rule = Rerank(
        reranker=OverlapReranker(), reads=30, weight=0.5, ms=0, min_relevance=0, cache=ScoreCache()
    )
    made = make_rules(Settings(rank_recency_weight=0.5), rerank=rule)
    assert tuple(each.name for each in made) == RULES


def test_a_row_without_a_rule_is_compared_with_the_row_that_has_it() -> None:
    rows = build_grid(["none", "outline"], rules=MEASURED)
    without = [row for row in rows if row.without]
    assert [row.without for row in without] == list(MEASURED)
    assert {find_parent(row, rows) for row in without} == {PipelineConfig(contexts="outline")}
    assert without[0].name == "outline hybrid without spelling"


def test_a_question_is_measured_without_a_rule(index: crx.Index) -> None:
    query = Query(id="q", text="leave the list", gold=())
    with index.searcher() as searcher:
        runner = QueryRunner(
            searcher, models=index.search_models, vectors=QueryVectors(index.embedder)
        )
        rows = [PipelineConfig(), PipelineConfig(without="copies")]
        first, second = (runner.rank(query.text, row).ranking.keys.tolist() for row in rows)
    assert len(second) > len(first)
