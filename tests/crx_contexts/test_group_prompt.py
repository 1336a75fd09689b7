"""Groups of chunks, their prompts, and the lines of their answers."""

from __future__ import annotations

import pytest

from crx.types import Chunk
from crx_contexts.chunk_groups import (
    CHUNKS_PER_GROUP,
    GroupPrompt,
    format_chunks,
    parse_lines,
    split_chunk_groups,
)


def chunks_of(sections: list[int], *, size: int = 10) -> list[Chunk]:
    return [
        Chunk(i, i * size, (i + 1) * size, 0, 0, section, f"chunk {i}")
        for i, section in enumerate(sections)
    ]


def sizes(chunks: list[Chunk], tokens: int = 100) -> list[int]:
    return [len(group) for group in split_chunk_groups(chunks, [tokens] * len(chunks))]


def test_a_group_holds_six_chunks() -> None:
    assert sizes(chunks_of([0] * 14)) == [CHUNKS_PER_GROUP, CHUNKS_PER_GROUP, 2]
    assert sizes([]) == []


def test_a_group_holds_1200_tokens_or_one_chunk() -> None:
    assert sizes(chunks_of([0] * 6), tokens=400) == [3, 3]
    assert sizes(chunks_of([0] * 3), tokens=5000) == [1, 1, 1]


def test_a_group_of_three_chunks_ends_with_its_section() -> None:
    assert sizes(chunks_of([0, 0, 0, 1, 1, 2, 2, 2])) == [3, 5]


def test_a_group_ends_before_a_gap() -> None:
    chunks = chunks_of([0] * 6)
    assert sizes(chunks[:2] + chunks[3:]) == [2, 3]


def test_lines_are_read_by_their_number() -> None:
    answer = "Here they are:\n[2] second\n [1]  first \n[2] again\nno number\n[4]\n[10] tenth"
    assert parse_lines(answer) == {2: "second", 1: "first", 10: "tenth"}


@pytest.mark.parametrize("answer", ["", "\n\n", "first\nsecond", "[]", "[x] first"])
def test_an_answer_without_numbers_has_no_lines(answer: str) -> None:
    assert parse_lines(answer) == {}


def test_the_prompt_numbers_the_chunks_and_begins_with_the_document() -> None:
    prompt = GroupPrompt.of(glossary="heron: a bird").lines
    text = prompt.prefix("A survey.") + prompt.suffix(format_chunks([" one\n", "two"]))
    assert text.startswith("<glossary>\nheron: a bird\n</glossary>\n<document>\nA survey.\n")
    assert "<chunks>\n[1] one\n[2] two\n</chunks>\n" in text


def test_the_hash_changes_with_the_glossary() -> None:
    assert GroupPrompt.of().hash != GroupPrompt.of(glossary="x").hash
