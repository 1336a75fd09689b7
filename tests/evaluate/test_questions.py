"""A question set of one's own documents: what is asked about, what is kept, what goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from crx.errors import UsageError
from crx.evaluate import read_set
from crx.evaluate.questions import QuestionFile, ask, sample, tidy
from crx.types import Document

PARAGRAPH = "The heron nests in reeds and feeds on frogs. " * 6 + "\n\n"
LONG = Document("long", PARAGRAPH * 40, title="Herons")
SHORT = Document("short", PARAGRAPH * 3)


class Says:
    """A generator that gives one answer and keeps what it was asked."""

    fingerprint = "says"

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.prompts: list[str] = []

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        self.prompts.append(prompt)
        yield from self.answer

    def close(self) -> None:
        pass


def test_every_document_is_asked_about_before_one_is_asked_again() -> None:
    first = Counter(each.document.uri for each in islice(sample([LONG, SHORT]), 4))
    assert first == {"long": 2, "short": 2}


def test_the_same_documents_and_seed_draw_the_same_chunks() -> None:
    ids = [each.id for each in sample([LONG, SHORT])]
    assert ids == [each.id for each in sample([SHORT, LONG])]
    assert ids != [each.id for each in sample([LONG, SHORT], seed=8)]
    assert len(set(ids)) == len(ids)


def test_what_is_written_is_a_question_set(tmp_path: Path) -> None:
    (drawn, *_) = sample([LONG])
    generator = Says("What do herons eat?\n")
    QuestionFile(tmp_path, [LONG]).add(drawn, ask(generator, drawn))
    (query,) = read_set(tmp_path).queries
    place = query.gold[0].any[0]
    assert (query.text, place.doc_id) == ("What do herons eat?", "long")
    assert LONG.text[place.start : place.end] == drawn.text
    assert drawn.text in generator.prompts[0]


def test_a_set_that_was_broken_off_goes_on(tmp_path: Path) -> None:
    first, second, *_ = sample([LONG])
    QuestionFile(tmp_path, [LONG]).add(first, "one?")
    with (tmp_path / "queries.jsonl").open("a") as file:
        file.write('{"query_id": "bro')
    again = QuestionFile(tmp_path, [LONG])
    assert again.ids == {first.id}
    again.add(second, "two?")
    assert [query.text for query in read_set(tmp_path).queries] == ["one?", "two?"]


def test_questions_of_other_documents_are_not_mixed(tmp_path: Path) -> None:
    QuestionFile(tmp_path, [LONG])
    with pytest.raises(UsageError, match="holds other documents than those here"):
        QuestionFile(tmp_path, [SHORT])


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("What do herons eat?", "What do herons eat?"),
        ('\n"What do herons eat?"\n', "What do herons eat?"),
        ("苍鹭吃什么？", "苍鹭吃什么？"),
        ("", ""),
        ("?!", ""),
        ("Sure, here it is:\nWhat do herons eat?", ""),
        ("What does the passage say?", ""),
        ("word " * 100, ""),
    ],
)
def test_an_answer_is_a_question_or_it_is_left_out(answer: str, question: str) -> None:
    assert tidy(answer) == question
