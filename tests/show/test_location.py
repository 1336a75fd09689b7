"""Where a passage stands in its file: lines of the file, pages, or a fragment for a browser."""

from __future__ import annotations

import bz2
from collections.abc import Iterator
from pathlib import Path

import pytest
from pdfs import pdf

import crx
from crx._show.location import anchor_around, text_fragment
from crx.types import Anchor, Mark

PAGE = """<!doctype html><html><head><title>Whales</title>
<style>p { color: red }</style></head><body>

<h1>Whales</h1>
<ul><li>Krill, krill &amp; plain-old plankton is what they eat all day long.</li></ul>
</body></html>
"""
TEXT = "# Whales\n\nIn the sea.\n\nKrill is what they eat.\n"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[crx.Index]:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text(TEXT)
    (docs / "b.py").write_text("x = 1\n\n\ndef krill():\n    pass\n")
    (docs / "c.html").write_text(PAGE)
    (docs / "d.jsonl").write_text('{"id": "x", "text": "One.\\n\\nKrill."}\n')
    (docs / "e.pdf").write_bytes(pdf([["Whales eat krill."]]))
    (docs / "f.log.bz2").write_bytes(bz2.compress(b"one\ntwo krill\n"))
    (docs / "g.conf").write_text("one\nkrill = 2\n")
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "hashed"}) as index:
        index.add(docs)
        index.add_documents([crx.Document("mem:1", "Krill in memory.")])
        yield index


def test_a_record_may_name_a_format_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"id": "x", "text": "Krill.", "metadata": {"format": ["a"]}}\n')
    with crx.open(tmp_path / "i.crx", settings={"embedder": "hashed"}) as index:
        index.add(file)
        assert [passage.lines for passage in index.search("krill")] == [None]


def test_lines_are_given_only_if_they_are_those_of_the_file(index: crx.Index) -> None:
    passages = {passage.uri.rpartition("/")[2]: passage for passage in index.search("krill")}
    assert {name: passage.lines for name, passage in passages.items()} == {
        "a.md": (1, 5),
        "b.py": (1, 5),
        "c.html": None,
        "d.jsonl#x": None,
        "e.pdf": None,
        "f.log.bz2": (1, 2),
        "g.conf": (1, 2),
        "mem:1": (1, 1),
    }
    assert passages["e.pdf"].pages == ("1", "1")
    assert [name for name, passage in passages.items() if passage.fragment] == ["c.html"]


def test_a_prompt_of_the_whole_corpus_gives_the_same_places(index: crx.Index) -> None:
    found = {passage.uri: passage for passage in index.search("krill")}
    for passage in index.corpus_prompt("krill?").passages:
        same = found[passage.uri]
        assert (passage.lines, passage.fragment) == (same.lines, same.fragment)


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("Whales\n\nBlue whales eat krill.", "Blue%20whales%20eat%20krill."),
        ("- One, two & plain-old three", "One%2C%20two%20%26%20plain%2Dold%20three"),
        ("2. one two three", "one%20two%20three"),
        ("a\tb c d\none two three\tfour", "one%20two%20three"),
        ("1 2 3 4 5 6 7 8 9 10", "1%202%203%204%205%206%207%208"),
        ("Größe der Wale", "Gr%C3%B6%C3%9Fe%20der%20Wale"),
    ],
)
def test_a_fragment_is_a_text_that_stands_in_one_block_of_the_page(
    text: str, fragment: str
) -> None:
    assert text_fragment(text) == f"#:~:text={fragment}"


def test_a_text_without_a_line_of_several_words_has_no_fragment() -> None:
    assert text_fragment("Whales\n\nKrill\tsea") == ""


@pytest.mark.parametrize(
    ("anchor", "label"),
    [
        (Anchor("slide", "3", "3"), "slide 3"),
        (Anchor("row", "5", "9"), "rows 5-9"),
        (Anchor("chapter", "Loomings", "The Spouter-Inn"), "chapters Loomings to The Spouter-Inn"),
        (Anchor("time", "00:01:02", "00:01:20"), "00:01:02-00:01:20"),
    ],
)
def test_a_citation_names_the_first_and_the_last_anchor(anchor: Anchor, label: str) -> None:
    assert anchor.label == label
    marks = [Mark(anchor.kind, 0, 5, anchor.first), Mark(anchor.kind, 5, 9, anchor.last)]
    assert anchor_around([Mark("heading", 0, 9, "All", 1), *marks], 3, 6) == anchor
    assert anchor_around(marks, 9, 9) is None
