"""Which questions of an evaluation failed, and how much of them is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crx.types import Document
from crx_evaluate import Gold, GoldSpan, Options, Query, QuestionSet, Results, run
from crx_evaluate.commands.report import failed_line
from crx_evaluate.failures import EXCERPT_CHARS, MAX_HITS, MAX_QUESTIONS

SETTINGS = {"embedder": "hashed"}
WORDS = ("heron", "egret", "stork")


def questions(*, count: int, length: int) -> QuestionSet:
    """Return questions about a long document in the words of the other ones."""
    text = f"{'Bitterns boom in reeds. ' * length}Their call carries far."
    documents = [Document("bittern", text)]
    documents += [Document(word, f"The {word} nests in May. " * length) for word in WORDS]
    gold = (Gold((GoldSpan("bittern", len(text) - 10, len(text)),)),)
    asked = [Query(f"{at}", f"{WORDS[at % 3]} nests in May?", gold) for at in range(count)]
    return QuestionSet("birds", tuple(documents), tuple(asked))


@pytest.fixture(scope="module")
def failing() -> Results:
    asked = questions(count=MAX_QUESTIONS + 10, length=100)
    return run(asked, contexts="none", options=Options(settings=SETTINGS, failed_at=1))


def test_more_failed_questions_are_counted_than_listed(failing: Results) -> None:
    row = failing.find_row("none bm25")
    assert failing.count_failed(row) == MAX_QUESTIONS + 10
    assert [each.id for each in failing.failures[row]] == [f"{at}" for at in range(MAX_QUESTIONS)]
    line = "none bm25: 40 of 40 questions lack a gold item in the first chunk"
    assert failed_line(failing, row) == f"{line}; the first 30 are listed"
    assert failed_line(failing, row, listed=2) == f"{line}: 0, 1, ..."


def test_an_answer_that_is_short_is_shown_with_the_text_before_it(failing: Results) -> None:
    failed = failing.failures[failing.find_row("none bm25")][0]
    ((place,),) = [gold.places for gold in failed.expected]
    assert (place.uri, place.end - place.start) == ("bittern", 10)
    assert place.text.endswith("Bitterns boom in reeds. Their call carries far.")
    assert len(place.text) <= EXCERPT_CHARS


def test_the_first_hits_are_shown_by_rank_and_cut(failing: Results) -> None:
    failed = failing.failures[failing.find_row("none bm25")][0]
    assert [hit.rank for hit in failed.instead] == list(range(1, MAX_HITS + 1))
    for hit in failed.instead:
        assert (hit.span.uri, hit.overlaps_gold) == ("heron", False)
        assert hit.span.text.startswith("The heron nests in May. The heron")
        assert len(hit.span.text) == EXCERPT_CHARS
        assert hit.span.text.endswith("…")


def test_an_item_that_is_found_is_listed_after_the_one_that_is_not() -> None:
    asked = questions(count=1, length=100)
    (query,) = asked.queries
    both = replace(query, gold=(Gold((GoldSpan("heron", 0, 5),)), *query.gold))
    options = Options(settings={**SETTINGS, "rank.fusion.depth": 8, "rank.fusion.dense": 0.0})
    results = run(replace(asked, queries=(both,)), contexts="none", options=options)
    (failed,) = results.failures[results.find_row("none bm25")]
    found, missing = failed.expected[1], failed.expected[0]
    assert (missing.rank, missing.places[0].uri) == (None, "bittern")
    assert (found.rank is not None, found.places[0].uri) == (True, "heron")


def test_a_ranking_is_listed_once_for_all_that_it_fills_prompts_with() -> None:
    options = Options(settings=SETTINGS, failed_at=1)
    results = run(questions(count=2, length=9), contexts="none", window="auto", options=options)
    assert [row.name for row in results.failures] == ["none bm25", "none dense", "none hybrid"]
    assert results.rows[-1].name == "none hybrid auto"
