"""What a reranker reads of a chunk: all of it, or an excerpt after its title and heading."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import crx
from crx.retrieve.reranked_text import (
    EXCERPT_CHARS,
    cut_excerpts,
    shorten_outline,
    situated_excerpts,
    situated_text,
)
from crx.types import Document

FILLER = "The parties agree to the following. "


def test_an_excerpt_holds_the_words_of_the_query_wherever_they_are() -> None:
    answer = "Either party may terminate upon thirty days notice."
    texts = [FILLER * before + answer + " " + FILLER * 12 for before in (0, 6, 15)]
    for excerpt in cut_excerpts("how many days of notice to terminate?", texts):
        assert answer in excerpt
        assert len(excerpt) <= EXCERPT_CHARS


def test_a_word_that_few_texts_have_decides() -> None:
    rare = FILLER * 12 + "Royalties are due. " + FILLER * 12
    excerpt, *_ = cut_excerpts("royalties that the parties agree", [rare, *[FILLER * 20] * 5])
    assert "Royalties are due." in excerpt


def test_of_a_long_outline_the_title_and_the_heading_stay() -> None:
    shortened = shorten_outline(
        f"Supply Agreement > {'Schedule > ' * 30}Term and termination\nnames"
    )
    assert shortened.startswith("Supply Agreement > Schedule")
    assert shortened.endswith("Schedule > Term and termination")
    assert len(shortened) < 110
    assert shorten_outline("Whales\nkrill") == "Whales"


def test_an_excerpt_has_the_outline_of_its_chunk_and_no_context(tmp_path: Path) -> None:
    whales = Document("whales.md", "Blue whales eat krill.\n", title="Whales")
    said = {"doc_id": "whales.md", "start": 0, "end": 23, "context": "What a model wrote."}
    (tmp_path / "contexts.jsonl").write_text(json.dumps(said))
    with crx.open(tmp_path / "index.crx", settings={"embedder": "none"}) as index:
        index.add_documents([whales], contexts=f"outline+{tmp_path}/contexts.jsonl")
        rows = index.store.chunks(index.store.chunk_keys(1))
    (excerpt,) = situated_excerpts("krill", rows)
    assert excerpt == "Whales\nBlue whales eat krill."
    assert situated_text(rows[0]) == "Whales\nWhat a model wrote.\nBlue whales eat krill.\n"


@pytest.mark.parametrize(
    "text", ["", " \n ", "鯨" * 5000, "x" * 5000, "a b " * 3000, f"a{' ' * 5000}b", "w\n" * 159]
)
def test_any_text_has_an_excerpt_of_bounded_length(text: str) -> None:
    (excerpt,) = cut_excerpts("鯨 x b", [text])
    assert len(excerpt) <= EXCERPT_CHARS + 40
    assert excerpt in text
    assert len(text) > EXCERPT_CHARS or excerpt == text.strip()


def test_no_texts_have_no_excerpts() -> None:
    assert cut_excerpts("whales", []) == []
