"""Creation of a question set from documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from crx.errors import UsageError
from crx.types import Document
from crx_evaluate import read_set
from crx_evaluate.questions import (
    OPENING_CHARS,
    QuestionFile,
    extract_question,
    generate_question,
    sample_chunks,
)

PARAGRAPH = "The heron nests in reeds and feeds on frogs. " * 6 + "\n\n"
LONG = Document("long", PARAGRAPH * 40, title="Herons")
SHORT = Document("short", PARAGRAPH * 3)


class FixedGenerator:
    """A generator that gives one answer and records its prompts."""

    fingerprint = "fixed"

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.prompts: list[str] = []

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        self.prompts.append(prompt)
        yield from self.answer

    def close(self) -> None:
        pass


def test_each_document_is_sampled_once_before_any_is_sampled_again() -> None:
    first = Counter(each.document.uri for each in islice(sample_chunks([LONG, SHORT]), 4))
    assert first == {"long": 2, "short": 2}


def test_the_same_documents_and_seed_give_the_same_sample() -> None:
    ids = [each.id for each in sample_chunks([LONG, SHORT])]
    assert ids == [each.id for each in sample_chunks([SHORT, LONG])]
    assert ids != [each.id for each in sample_chunks([LONG, SHORT], seed=8)]
    assert len(set(ids)) == len(ids)


def test_the_written_files_are_a_question_set(tmp_path: Path) -> None:
    (drawn, *_) = sample_chunks([LONG])
    generator = FixedGenerator("What do herons eat?\n")
    QuestionFile(tmp_path, [LONG]).add(drawn, generate_question(generator, drawn))
    (query,) = read_set(tmp_path).queries
    place = query.gold[0].any[0]
    assert (query.text, place.doc_id) == ("What do herons eat?", "long")
    assert LONG.text[place.start : place.end] == drawn.text
    assert drawn.text in generator.prompts[0]


def test_an_interrupted_question_set_is_continued(tmp_path: Path) -> None:
    first, second, *_ = sample_chunks([LONG])
    QuestionFile(tmp_path, [LONG]).add(first, "one?")
    with (tmp_path / "queries.jsonl").open("a") as file:
        file.write('{"query_id": "bro')
    again = QuestionFile(tmp_path, [LONG])
    assert again.ids == {first.id}
    again.add(second, "two?")
    assert [query.text for query in read_set(tmp_path).queries] == ["one?", "two?"]


def test_a_last_line_without_its_end_is_kept(tmp_path: Path) -> None:
    first, second, *_ = sample_chunks([LONG])
    QuestionFile(tmp_path, [LONG]).add(first, "one?")
    queries = tmp_path / "queries.jsonl"
    queries.write_text(queries.read_text().rstrip("\n"))
    again = QuestionFile(tmp_path, [LONG])
    assert again.ids == {first.id}
    again.add(second, "two?")
    assert [query.text for query in read_set(tmp_path).queries] == ["one?", "two?"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("one?", "queries.jsonl: the last line is not JSON: "),
        ("one?\n", "queries.jsonl:2: not JSON: "),
        ("[1]\n", "queries.jsonl:2: not a JSON object"),
        ('{"query": "one?"}\n', "queries.jsonl:2: query_id is missing or empty"),
    ],
)
def test_lines_that_are_no_questions_are_told_and_kept(
    tmp_path: Path, line: str, message: str
) -> None:
    first, *_ = sample_chunks([LONG])
    QuestionFile(tmp_path, [LONG]).add(first, "one?")
    queries = tmp_path / "queries.jsonl"
    queries.write_text(written := queries.read_text() + line)
    with pytest.raises(UsageError) as error:
        QuestionFile(tmp_path, [LONG])
    assert message in str(error.value)
    assert queries.read_text() == written


def test_questions_without_their_documents_are_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"query_id": "1"}')
    with pytest.raises(UsageError, match=r"there is no corpus\.jsonl beside it"):
        QuestionFile(tmp_path, [LONG])
    assert (tmp_path / "queries.jsonl").read_text() == '{"query_id": "1"}'


def test_a_document_that_contains_a_slot_of_the_prompt_stays_as_it_is() -> None:
    document = Document("slots", "A template: {passage} and {opening}. " + PARAGRAPH * 3)
    (sampled, *_) = sample_chunks([document])
    opening = sampled.prompt.split("<opening>\n")[1].split("\n</opening>")[0]
    assert opening == document.text[:OPENING_CHARS]


def test_a_question_set_of_other_documents_is_refused(tmp_path: Path) -> None:
    QuestionFile(tmp_path, [LONG])
    with pytest.raises(UsageError, match="was made from other documents"):
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
def test_output_that_is_not_one_question_is_dropped(answer: str, question: str) -> None:
    assert extract_question(answer) == question
