"""Question sets that quote the files of a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crx.errors import UsageError
from crx_evaluate import Gold, GoldSpan, read_questions

LEASE = "# Lease\n\nIt ends on 31\nDecember   2029, and\n\nnot before.\n"


def write(folder: Path, *rows: object) -> Path:
    (folder / "docs").mkdir()
    (folder / "docs" / "lease.md").write_text(LEASE)
    (folder / "docs" / "copy.txt").write_text("ends on 31 December 2029")
    text = "\n".join(json.dumps(row) for row in rows)
    (folder / "questions.jsonl").write_text(text, encoding="utf-8")
    return folder


def row(quote: str, **fields: object) -> dict[str, object]:
    return {"query": "when does it end?", "path": "lease.md", "quote": quote, **fields}


def test_a_quote_is_found_in_every_file_however_its_lines_break(tmp_path: Path) -> None:
    questions = read_questions(write(tmp_path, row("ends on 31 December 2029, and not", id="a")))
    (query,) = questions.queries
    (gold,) = query.gold
    (span,) = gold.any
    assert query.id == "a"
    assert LEASE[span.start : span.end] == "ends on 31\nDecember   2029, and\n\nnot"


def test_the_text_of_several_files_is_found_in_any_of_them(tmp_path: Path) -> None:
    folder = write(tmp_path, row("ends  on 31 December 2029"))
    questions = read_questions(folder, files=folder / "docs")
    places = (GoldSpan("copy.txt", 0, 24), GoldSpan("lease.md", 12, 38))
    assert questions.queries[0].gold == (Gold(places),)
    assert {document.uri for document in questions.documents} == {"copy.txt", "lease.md"}


def test_the_list_of_questions_is_no_document(tmp_path: Path) -> None:
    folder = write(tmp_path, row("It ends", text="It ends"))
    questions = read_questions(folder)
    assert {document.uri for document in questions.documents} == {"docs/copy.txt", "docs/lease.md"}
    assert questions.notes == ()


def test_a_quoted_question_has_a_language(tmp_path: Path) -> None:
    folder = write(tmp_path, row("It ends", lang="en", query_lang="fr"))
    assert read_questions(folder).queries[0].lang == "fr > en"


def test_a_question_whose_quote_is_in_no_file_is_left_out_and_named(tmp_path: Path) -> None:
    folder = write(tmp_path, row("It ends", id="a"), row("It starts", id="b"))
    questions = read_questions(folder, files=folder / "docs")
    assert [query.id for query in questions.queries] == ["a"]
    assert questions.notes == (
        "1 of 2 questions are left out: their quotes are in no document; "
        "the first is b, of lease.md",
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row("It starts")], "no quote is in a document below"),
        ([row("It"), row("")], "questions.jsonl:2: quote is missing or empty"),
        ([row("It", id="a"), row("It", id="a")], "questions.jsonl:2: id 'a' occurs twice"),
        ([], "contains no question"),
        ([{"query": "a?", "path": "a"}] * 2, "questions.jsonl: no question has a quote; give"),
    ],
)
def test_a_list_without_an_answer_says_why(
    tmp_path: Path, rows: list[object], message: str
) -> None:
    folder = write(tmp_path, *rows)
    with pytest.raises(UsageError, match=message):
        read_questions(folder, files=folder / "docs")


def test_files_are_for_lists_of_quotes(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no questions\.jsonl"):
        read_questions(tmp_path, files=tmp_path)
