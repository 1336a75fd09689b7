"""Notebooks, tables as text and subtitles: their cells, rows and times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from zipped import damaged

import crx
from crx.errors import InputError
from crx.ingest.read import read_bytes
from crx.types import Document


def one(text: str | bytes, name: str) -> Document:
    """Read a text that holds one document."""
    (document,) = read_bytes(text.encode() if isinstance(text, str) else text, name=name)
    return document


def spans(document: Document, kind: str) -> dict[str, str]:
    """Return what each mark of a kind covers, by label."""
    return {m.label: document.text[m.start : m.end] for m in document.marks if m.kind == kind}


NOTEBOOK: dict[str, Any] = {
    "metadata": {"kernelspec": {"language": "python"}},
    "cells": [
        {"cell_type": "markdown", "source": ["# Roads\n", "\n", "How long?"]},
        {
            "cell_type": "code",
            "source": "print(miles)\n# not a heading",
            "outputs": [
                {"output_type": "stream", "text": ["\x1b[31m12\x1b[0m\n"]},
                {"output_type": "display_data", "data": {"text/plain": "x", "image/png": "iVBO"}},
            ],
        },
    ],
}
CAPTIONS = (
    "1\r\n00:00:01,000 --> 00:00:02,500 X1:40\r\n<i>Call me</i>\r\nIshmael.\r\n\r\n"
    "2\r\n01:02:03,000 --> 01:02:04,000\r\n{\\an8}Some years ago\r\n"
)
VTT = (
    "WEBVTT\n\nNOTE not said\n\nintro\n"
    "00:01.000 --> 00:02.000 align:start\n<v Ann>Call &amp; me\n\n"
    "00:02.000 --> 00:03.000\n<v Ann>Call &amp; me\n\n00:03.000 --> 00:04.000\n- Ishmael\n"
)


def test_a_notebook_has_cells_with_their_outputs_and_headings_of_its_markdown() -> None:
    document = one(json.dumps(NOTEBOOK), "a.ipynb")
    assert spans(document, "cell") == {
        "1": "# Roads\n\nHow long?\n\n",
        "2": "print(miles)\n# not a heading\n\n12\n\nx",
    }
    assert spans(document, "heading") == {"Roads": document.text}
    assert document.title == "Roads"
    assert document.metadata == {"ext": "ipynb", "language": "python", "format": "ipynb"}


def test_outputs_in_html_or_markdown_alone_are_read() -> None:
    outputs = [{"data": {"text/html": ["<b>9 &lt; 11</b>"]}}, {"data": {"text/markdown": "*ten*"}}]
    cell = {"cell_type": "code", "source": "road", "outputs": outputs}
    assert one(json.dumps({"cells": [cell]}), "a.ipynb").text == "road\n\n9 < 11\n*ten*"


@pytest.mark.parametrize(
    "text", ["[", "[]", "{}", '{"cells": 1}', '{"cells": []}', '{"worksheets": [1]}']
)
def test_what_is_no_notebook_says_so(text: str) -> None:
    with pytest.raises(InputError, match=r"is no notebook|has no text"):
        one(text, "a.ipynb")


def test_a_table_is_as_written_under_the_names_of_its_columns() -> None:
    text = 'road;miles\n"A 1\n(north)";12\n\nB 2;7\n'
    document = one(text, "a.csv")
    assert document.text == text
    assert one(text, "long_roads.csv").title == "long roads"
    assert spans(document, "heading") == {"road, miles": text}
    assert spans(document, "row") == {"1": '"A 1\n(north)";12\n', "2": "B 2;7\n"}
    assert document.metadata == {"ext": "csv", "format": "csv", "as_written": True}


@pytest.mark.parametrize("value", ["2.1", "1.23E+07", "₹ 1,200", "1’234.50"])
def test_a_first_row_of_data_names_no_columns(value: str) -> None:
    document = one(f"Paris\t{value}\nLyon\t0.5\n", "a.tsv")
    assert spans(document, "heading") == {}
    assert spans(document, "row") == {"1": f"Paris\t{value}\n", "2": "Lyon\t0.5\n"}


def test_a_quote_within_a_cell_opens_none() -> None:
    text = 'mast;feet\n6" pole;9\n"8"" pole;\ntarred";12\n"";1\n'
    assert spans(one(text, "a.csv"), "row") == {
        "1": '6" pole;9\n',
        "2": '"8"" pole;\ntarred";12\n',
        "3": '"";1\n',
    }


@pytest.mark.parametrize(
    "opening",
    [
        "\n",  # a blank line
        "Masts, of 1930\n",  # a title
        "mast;feet;note, if any\n9;1,5;tar, or none\n",  # decimal commas
        'mast;note\n8;"a, b,\nc, d,\ne, f"\n',  # commas in a quoted cell
    ],
)
def test_the_delimiter_is_that_of_most_lines(opening: str) -> None:
    rows = 'mast;feet\n8;"8"" pole,\ntarred"\n7;9\n'
    found = list(spans(one(opening + rows, "a.csv"), "row").values())
    assert found[-2:] == ['8;"8"" pole,\ntarred"\n', "7;9\n"]


def test_a_line_that_names_the_delimiter_is_no_row() -> None:
    document = one("sep=|\nmast|feet, tarred\n7|9\n", "a.csv")
    assert spans(document, "heading") == {"mast, feet, tarred": document.text}
    assert spans(document, "row") == {"1": "7|9\n"}


def test_a_quote_that_is_never_closed_ends_with_the_file() -> None:
    assert spans(one('a,b\n"c,d\ne,f', "a.csv"), "row") == {"1": '"c,d\ne,f'}


def test_captions_are_lines_at_their_times() -> None:
    document = one(CAPTIONS, "a.srt")
    assert document.text == "Call me Ishmael.\nSome years ago"
    assert spans(document, "time") == {
        "00:00:01": "Call me Ishmael.\n",
        "01:02:03": "Some years ago",
    }


def test_captions_of_the_web_have_voices_and_no_repetitions() -> None:
    document = one(VTT, "a.vtt")
    assert spans(document, "time") == {"00:00:01": "Ann: Call & me\n", "00:00:03": "- Ishmael"}


def test_a_file_without_captions_says_so() -> None:
    with pytest.raises(InputError, match="has no captions with times"):
        one("words and no times", "a.srt")


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.ipynb", json.dumps(NOTEBOOK)), ("a.csv", "a,b\nc,d\n" * 20), ("a.vtt", VTT)],
)
def test_a_damaged_file_has_marks_within_its_text_or_is_refused(name: str, text: str) -> None:
    for copy in damaged(text.encode(), count=200):
        try:
            documents = list(read_bytes(copy, name=name))
        except InputError:
            continue
        for document in documents:
            assert all(0 <= m.start < m.end <= len(document.text) for m in document.marks)


def test_searches_cite_rows_cells_and_times(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.csv").write_text("road,miles\nA1,12\nkrill,7\n")
    (folder / "a.srt").write_text(CAPTIONS + "\nkrill\n")
    (folder / "a.ipynb").write_text(json.dumps(NOTEBOOK).replace("How long?", "krill"))
    with crx.open(tmp_path / "i.crx", settings={"embedder": "hashed"}) as index:
        index.add(folder)
        found = {Path(p.uri).suffix: p for p in index.search("krill miles years")}
    anchors = {suffix: p.anchor.label for suffix, p in found.items() if p.anchor}
    # Of the line that answers; the header of a table has none, and its chunk is named.
    assert anchors == {".csv": "rows 1-2", ".srt": "01:02:03", ".ipynb": "cell 1"}
    assert [suffix for suffix, passage in found.items() if passage.lines] == [".csv"]
