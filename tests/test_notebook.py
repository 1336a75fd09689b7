"""What a Python prompt and a notebook show of passages and results."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import crx
from crx.types import Note

HOSTILE = "# <script>alert(1)</script>\n\nA \x1b[31mwhale\x07 & a <img src=x onerror=alert(1)>.\n"


@pytest.fixture
def result(tmp_path: Path) -> crx.Result:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a<b>.md").write_text(HOSTILE + "Whales sing. " * 100)
    index = crx.open(tmp_path / "notes.crx", settings={"embedder": "none"})
    index.add(tmp_path / "docs")
    return index.search("whale")


def test_a_passage_is_one_line_with_its_location_its_score_and_its_opening(
    result: crx.Result,
) -> None:
    passage = result[0]
    shown = repr(passage)
    assert shown.startswith(f"<Passage '{passage.uri}:{passage.line}', ")
    assert f"score {passage.score:.3f}: '" in shown
    assert len(shown) < len(passage.uri) + 120
    assert shown.isprintable()


def test_pages_of_a_pdf_come_before_its_lines(result: crx.Result) -> None:
    passage = replace(result[0], uri="a.pdf", pages=("3", "5"), lines=(1, 2))
    assert repr(passage).startswith("<Passage 'a.pdf, pages 3-5', score")
    one = replace(passage, pages=("iv", "iv"))
    assert repr(one).startswith("<Passage 'a.pdf, page iv', score")
    row = crx.Anchor("row", "7", "7")
    table = replace(passage, uri="a.csv", pages=None, anchor=row)
    assert repr(table).startswith(f"<Passage 'a.csv:{passage.line}, {row.label}', score")


def test_a_result_lists_its_passages(result: crx.Result) -> None:
    first, *rows = repr(result).splitlines()
    assert first == f"<Result of {len(result)} passage, {len(result.hits)} hits>"
    assert rows == [f"{at}. {passage!r}" for at, passage in enumerate(result, 1)]


def test_html_for_a_notebook_holds_no_markup_of_a_document(result: crx.Result) -> None:
    for shown in (result._repr_html_(), result[0]._repr_html_()):
        tags = set(re.findall(r"<([^\s/>]+)", shown))
        assert tags <= {"ol", "li", "div", "b", "code", "small", "pre", "p"}
        assert "&lt;script&gt;" in shown
        assert "\x1b" not in shown


def test_a_result_without_passages_says_so(result: crx.Result) -> None:
    empty = crx.Result((), (), (Note("nothing <near>"),))
    assert repr(empty) == "<Result of 0 passages, 0 hits>\nnote: 'nothing <near>'"
    assert empty._repr_html_() == ("<p>nothing found</p><p><small>nothing &lt;near&gt;</small></p>")


def test_html_keeps_the_characters_of_ordinary_text() -> None:
    kept = "日本\u3000語, 10\u00a0km, می\u200cخواهم, 👩\u200d🔬\n\tend"
    assert _shown(kept) == f"<p>nothing found</p><p><small>{kept}</small></p>"
    assert "a\nb" in _shown("a\r\nb")
    assert _shown("\x1b\x9b\u202e\udc80").count("\ufffd") == 4


def _shown(note: str) -> str:
    return crx.Result((), (), (Note(note),))._repr_html_()
