"""Tests of `crx._show.reflow`: which lines are joined, and which are not."""

from __future__ import annotations

import time

import pytest

from crx._show.reflow import JoinedLine, join_paragraphs

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


def test_two_lines_are_joined_if_they_are_surely_one_sentence() -> None:
    lines = "crx keeps what it has read in one folder, of which the name ends in\n``.crx`` or so."
    assert len(joined(lines)) == 2
    lines = "crx keeps what it has read in one folder, which\nis below the one that is read."
    assert len(joined(lines)) == 2
    lines = "crx keeps what it has read in one folder, which is below the\none that is read."
    assert joined(lines) == [lines.replace("\n", " ")]


def test_text_between_blocks_of_source_code_is_joined() -> None:
    one = PARAGRAPH.replace("\n", " ")
    fence = "```python"
    assert joined(f"{PARAGRAPH}\n{fence}\n{PARAGRAPH}\n```\n{PARAGRAPH}") == [
        *(one, fence, *PARAGRAPH.split("\n"), "```", one)
    ]
    # The text begins within a block.
    assert joined(f"code\n```\n{fence}\n{PARAGRAPH}\n```\n{PARAGRAPH}")[-2:] == ["```", one]


def test_words_of_vietnamese_have_spaces_between_them() -> None:
    text = """\
Tiếng Việt là ngôn ngữ của người Việt và là ngôn ngữ chính thức tại Việt Nam,
được hơn chín mươi phần trăm dân số nói như tiếng mẹ đẻ, ở khắp các vùng miền
của đất nước."""
    assert joined(text) == [text.replace("\n", " ")]


def test_many_short_lines_take_no_longer_each_than_few() -> None:
    lines = ["ab"[at % 2] for at in range(8000)]
    started = time.process_time()
    assert len(join_paragraphs(lines)) == len(lines)
    assert len(join_paragraphs(PARAGRAPH.split("\n")[:2] * 8000)) == 16000
    assert time.process_time() - started < 5


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
        # Thai has no spaces between words.
        "ภาษาไทยเป็นภาษาราชการของประเทศไทยและภาษาแม่ของชาวไทยซึ่งมีคนพูดมากมายใน\nประเทศไทยและ\nภาษา.",
        # Fences, and what is within them.
        "Run the long command below in your terminal, which installs it:\n```\ncrx index.\n```",
        f"```\n{PARAGRAPH}\n```",
        f"<pre>\n{PARAGRAPH}\n</pre>",
        "crx index docs and the other folder with some more words in it now\npip install crx\nls.",
        # A heading, one paragraph a line, verses, an address below a mail.
        "## A long heading of a section that has more than fifty characters\nText right below it.",
        "The committee met for the third time this spring and discussed the budget, the building,"
        " and the plans of the next years.\nResults\nThe budget was accepted by all members.",
        "The committee met for the third time this spring and discussed the budget.\nResults",
        "Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:\n"
        "Rough winds do shake the darling buds of May,\nAnd summer's lease hath too short a date.",
        "Thank you for the long conversation we had yesterday about the plan.\nRegards,\nJohn.",
        # Messages, settings, and lists of entries.
        "Nov 26 the server of the index was started by the user with a socket\n"
        "Nov 26 the server of the index was stopped by the user after a while.",
        "summary: the name of what is read by the program when it is started\n"
        "licence: the text that tells what is allowed and what is forbidden.",
        "[section of the settings that has a long name, as some of them have]\nname is short.",
        "Introduction.....................................................1\nMethods.......9.",
        "  -q  Print nothing but the errors that occur while files are read\n  -v  Print more.",
        "  build  Build the packages of the folder and put them into others\n  check  Check them.",
        "The tenant has to pay for each of the following, unless agreed:\n(a) water;\n(b) heat.",
        "The tenant has to pay for each of the following, unless agreed:\na) water;\nb) heat.",
        "The tenant has to pay for each of the following, unless agreed:\n· water;\n· heat.",
        "The tenant has to pay for each of the following, unless he agreed:\n1.2 the heat.",
        # A word that goes on in the next line.
        "This is a text which was typeset in columns, and therefore hyphen-\n"
        "ated at the ends of lines as in this paragraph of the large docu-\nment.",
        # Lines that are to stay apart.
        "the office of the director of the national library of the land  \nthe main street.",
    ],
)
def test_other_lines_stay_as_they_are(text: str) -> None:
    lines = text.split("\n")
    assert join_paragraphs(lines) == [JoinedLine(line) for line in lines]
