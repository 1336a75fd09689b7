"""What a reranker reads of a chunk: all of it, or an excerpt after its title and heading."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from crx.retrieve.reranked_text import EXCERPT_CHARS, situated_excerpts, situated_text

FILLER = "The parties agree to the following. "


@dataclass(frozen=True)
class Chunk:
    text: str
    outline: str = ""
    context: str = ""


def test_an_excerpt_holds_the_words_of_the_query_wherever_they_are() -> None:
    answer = "Either party may terminate upon thirty days notice."
    rows = [Chunk(FILLER * before + answer + " " + FILLER * 12) for before in (0, 6, 15)]
    for excerpt in situated_excerpts("how many days of notice to terminate?", rows):
        assert answer in excerpt
        assert len(excerpt) <= EXCERPT_CHARS


def test_a_word_that_few_chunks_have_decides() -> None:
    rare = FILLER * 12 + "Royalties are due. " + FILLER * 12
    rows = [Chunk(rare), *[Chunk(FILLER * 20)] * 5]
    excerpt, *_ = situated_excerpts("royalties that the parties agree", rows)
    assert "Royalties are due." in excerpt


def test_a_short_chunk_is_read_whole() -> None:
    row = Chunk("Blue whales eat krill.\n", outline="Whales\nkrill")
    assert situated_excerpts("krill", [row]) == ["Whales\nBlue whales eat krill."]
    assert situated_text(row) == "Whales\nBlue whales eat krill.\n"


def test_of_a_long_prefix_the_title_and_the_heading_stay() -> None:
    outline = f"Supply Agreement > {'Schedule > ' * 30}Term and termination\nnames"
    row = Chunk("Ten years.", outline=outline, context="What a model wrote. " * 5)
    (excerpt,) = situated_excerpts("term", [row])
    assert excerpt.startswith("Supply Agreement > Schedule")
    assert excerpt.endswith("Schedule > Term and termination\nTen years.")
    assert len(excerpt) < 130


@pytest.mark.parametrize(
    "text", ["", " \n ", "鯨" * 5000, "x" * 5000, "a b " * 3000, f"a{' ' * 5000}b", "w\n" * 159]
)
def test_any_text_has_an_excerpt_of_bounded_length(text: str) -> None:
    (excerpt,) = situated_excerpts("鯨 x b", [Chunk(text)])
    assert len(excerpt) <= EXCERPT_CHARS + 40
    assert excerpt in text
    assert len(text) > EXCERPT_CHARS or excerpt == text.strip()


def test_no_chunks_have_no_excerpts() -> None:
    assert situated_excerpts("whales", []) == []
