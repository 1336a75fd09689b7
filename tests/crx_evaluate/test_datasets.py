"""Reading of question sets, and their errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crx.errors import UsageError
from crx_evaluate.datasets import Gold, GoldSpan, Query, read_set

DOCUMENT = {"doc_id": "d1", "title": "T", "text": "One two three.", "chunks": [[0, 7], [7, 14]]}
SPAN = {"doc_id": "d1", "start": 0, "end": 3}
QUERY = {"query_id": "q1", "query": "one?", "gold": [{"any": [SPAN]}]}


def write(folder: Path, corpus: list[object], queries: list[object]) -> Path:
    for name, rows in (("corpus", corpus), ("queries", queries)):
        text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8", errors="surrogatepass")
    return folder


def test_a_question_set_is_read(tmp_path: Path) -> None:
    questions = read_set(write(tmp_path, [DOCUMENT], [QUERY]))
    assert questions.name == tmp_path.name
    (document,) = questions.documents
    assert (document.uri, document.title, document.text) == ("d1", "T", "One two three.")
    assert document.chunks == ((0, 7), (7, 14))
    assert questions.queries == (Query("q1", "one?", (Gold((GoldSpan("d1", 0, 3),)),)),)


@pytest.mark.parametrize(
    ("corpus", "queries", "message"),
    [
        ([DOCUMENT, DOCUMENT], [QUERY], "corpus.jsonl:2: doc_id 'd1' occurs twice"),
        ([DOCUMENT], [QUERY, QUERY], "queries.jsonl:2: query_id 'q1' occurs twice"),
        (["{"], [QUERY], "corpus.jsonl:1: not JSON"),
        ([DOCUMENT], ["[1]"], "queries.jsonl:1: not a JSON object"),
        ([{**DOCUMENT, "text": ""}], [QUERY], "corpus.jsonl:1: text is missing or empty"),
        ([{**DOCUMENT, "chunks": [[0, 99]]}], [QUERY], "chunk 0..99 is outside the text of 14"),
        (
            [DOCUMENT],
            [QUERY, {**QUERY, "query_id": "q2", "gold": []}],
            "queries.jsonl:2: query 'q2' has no gold",
        ),
        ([DOCUMENT], [{**QUERY, "gold": []}], "queries.jsonl: no question has gold"),
        ([DOCUMENT], [{**QUERY, "lang": 7}], "queries.jsonl:1: lang must be the name of"),
        ([DOCUMENT], [{**QUERY, "query_lang": " "}], "query_lang must be the name of a language"),
        (
            [DOCUMENT],
            [{**QUERY, "gold": [{"any": []}]}],
            'a gold item must be {"any": [span, ...]}',
        ),
        (
            [DOCUMENT],
            [{"query_id": "q1", "query": "one?"}, {"query_id": "q2", "query": "two?"}],
            "queries.jsonl: no question has gold; list the spans of the answers in",
        ),
        ([DOCUMENT], ["\ud800"], "queries.jsonl:1: not JSON"),
        ([DOCUMENT], [], "queries.jsonl: contains no query"),
        ([], [QUERY], "corpus.jsonl: contains no document"),
        ([{**DOCUMENT, "title": 7}], [QUERY], "corpus.jsonl:1: title must be a string"),
        ([{**DOCUMENT, "marks": {}}], [QUERY], 'marks must be [{"kind", "start", "end", "label"'),
        ([{**DOCUMENT, "marks": [{"at": 0}]}], [QUERY], "corpus.jsonl:1: marks must be"),
        (
            [{**DOCUMENT, "marks": [{"kind": "page", "start": 0, "end": 99, "label": "1"}]}],
            [QUERY],
            "a mark is outside the text of 14 characters",
        ),
        ([DOCUMENT], [{**QUERY, "exact": 1}], "queries.jsonl:1: exact must be true or false"),
        (
            [DOCUMENT],
            [{**QUERY, "gold": [{"any": [{**SPAN, "doc_id": ["d1"]}]}]}],
            "gold has doc_id ['d1'], which is not in the corpus",
        ),
        (
            [DOCUMENT],
            [{**QUERY, "gold": [{"any": [{**SPAN, "start": False}]}]}],
            "gold False..3 is outside 'd1' of 14 characters",
        ),
        (
            [DOCUMENT],
            [{**QUERY, "gold": [{"any": [{**SPAN, "start": 3}]}]}],
            "gold 3..3 is outside 'd1' of 14 characters",
        ),
        (
            [DOCUMENT],
            [{**QUERY, "gold": [{"any": [{**SPAN, "end": 99}]}]}],
            "gold 0..99 is outside 'd1' of 14 characters",
        ),
        (
            [DOCUMENT],
            [{**QUERY, "gold": [{"any": [{**SPAN, "doc_id": "d2"}]}]}],
            "gold has doc_id 'd2', which is not in the corpus",
        ),
    ],
)
def test_an_error_names_the_file_and_the_line(
    tmp_path: Path, corpus: list[object], queries: list[object], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        read_set(write(tmp_path, corpus, queries))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "lang"),
    [
        ({}, ""),
        ({"lang": "fr"}, "fr"),
        ({"query_lang": "fr"}, "fr"),
        ({"lang": "fr", "query_lang": "fr"}, "fr"),
        ({"lang": "en", "query_lang": "fr"}, "fr > en"),
    ],
)
def test_a_question_has_the_language_of_its_words_and_of_its_answer(
    tmp_path: Path, fields: dict[str, str], lang: str
) -> None:
    (query,) = read_set(write(tmp_path, [DOCUMENT], [{**QUERY, **fields}])).queries
    assert query.lang == lang


def test_a_folder_without_a_question_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not a question set; corpus.jsonl is missing"):
        read_set(tmp_path)
