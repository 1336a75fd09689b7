"""Tests of `crx.retrieve.reflow`: which lines are joined, and which are not."""

from __future__ import annotations

import pytest

from crx.retrieve.reflow import JoinedLine, join_paragraphs

PARAGRAPH = """\
When a symlink that leads outside the static directory is accessed, the server
responds to the client with ``HTTP/404 Not Found`` by default. To allow the
server to follow symlinks, the parameter should be set to true."""


def joined(text: str) -> list[str]:
    return [line.text for line in join_paragraphs(text.split("\n"))]


def test_the_lines_of_a_paragraph_become_one_that_tells_where_each_starts() -> None:
    first, second, third = PARAGRAPH.split("\n")
    (line,) = join_paragraphs([first, second, third])
    assert line.text == PARAGRAPH.replace("\n", " ")
    assert line.starts == (0, len(first) + 1, len(first) + len(second) + 2)


def test_paragraphs_are_apart() -> None:
    one = PARAGRAPH.replace("\n", " ")
    assert joined(f"{PARAGRAPH}\n\n{PARAGRAPH}") == [one, "", one]
    indented = "\n".join(f"    {line}" for line in PARAGRAPH.split("\n"))
    assert joined(f"{PARAGRAPH}\n{indented}") == [one, f"    {one}"]


def test_an_item_of_a_list_is_joined_with_the_lines_below_its_text() -> None:
    item = "- " + PARAGRAPH.replace("\n", "\n  ")
    assert joined(f"{item}\n{item}") == ["- " + PARAGRAPH.replace("\n", " ")] * 2


@pytest.mark.parametrize(
    "text",
    [
        # Lines that end before the next word would not fit.
        "The first line of an address, which is longer than others\nHigh Street 12\nLondon",
        "short\nlines\nof a poem",
        # Source code, commands, tables and rules.
        "result = compute_everything(first_argument, second_argument, third)\nreturn result",
        "Name of the option      what the option does when it is on\nverbose      more messages",
        "| a table with cells that are long enough for a paragraph | yes |\n| b | no |",
        "A heading that is long enough to be taken for a line of prose, almost\n======",
        "一個很長的段落一個很長的段落一個很長的段落一個很長的段落一個很長的段落一個很長的段落一個很長的段落\n還有一行",
    ],
)
def test_other_lines_stay_as_they_are(text: str) -> None:
    lines = text.split("\n")
    assert join_paragraphs(lines) == [JoinedLine(line) for line in lines]
