"""Excluded words: what a search leaves out, and what it still finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import crx
from crx.retrieve._query.exclusion import Exclusion, holds_excluded
from crx.retrieve.search_state import ChunkRows

TEXTS = {
    "plan.md": "# Plan\n\nThe budget of the town for roads.",
    "draft.md": "# Draft\n\nThe budget of the town for schools.",
    "notes.md": "# Notes\n\nAll drafts of the budget are here.",
    "code.md": "# Code\n\nThe budget is read by parse_args of the program.",
    "first.md": "# Minutes\n\nThe first version of the budget.",
}


@pytest.fixture
def index(tmp_path: Path) -> crx.Index:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    index = crx.open(tmp_path / "town.crx", settings={"embedder": "hashed"})
    index.add(folder)
    return index


def found(index: crx.Index, query: str) -> set[str]:
    return {Path(hit.uri).name for hit in index.search(query).hits}


@pytest.mark.parametrize(
    ("query", "left_out"),
    [
        ("budget", set()),
        ("budget -draft", {"draft.md", "notes.md"}),
        ("budget -Drafts", {"draft.md", "notes.md"}),
        ("budget -parse_args", {"code.md"}),
        ("budget -args", {"code.md"}),
        ('budget -"the first version"', {"first.md"}),
        ('budget -"first budget"', set()),
        ("budget -roads -schools", {"plan.md", "draft.md"}),
    ],
)
def test_passages_with_an_excluded_word_are_left_out(
    index: crx.Index, query: str, left_out: set[str]
) -> None:
    assert found(index, query) == set(TEXTS) - left_out


def test_a_note_says_what_was_left_out(index: crx.Index) -> None:
    assert index.search("budget -draft").notes == (
        'without passages that hold "draft"; to search for "-draft", put it in quotes',
    )


def test_a_query_of_excluded_phrases_alone_is_refused(index: crx.Index) -> None:
    with pytest.raises(ValueError, match="only excludes words; add one to search for"):
        index.search('-"a b"')


def test_an_option_that_documents_hold_is_searched_for(index: crx.Index, tmp_path: Path) -> None:
    (tmp_path / "docs" / "town.md").write_text("# Town\n\n`town budget -draft FILE` reads FILE.")
    index.add(tmp_path / "docs")
    result = index.search("town budget -draft")
    assert Path(result.hits[0].uri).name == "town.md"
    assert result.notes == ('searched for "-draft", which documents have; -"draft" leaves it out',)
    assert found(index, 'town budget -"draft"') == set(TEXTS) - {"draft.md", "notes.md"}


def test_options_that_documents_hold_are_named_together(index: crx.Index, tmp_path: Path) -> None:
    (tmp_path / "docs" / "town.md").write_text("# Town\n\n`town budget -draft -final FILE` reads.")
    index.add(tmp_path / "docs")
    assert index.search("town budget -draft -final").notes == (
        'searched for "-draft" and "-final", which documents have; -"draft" leaves it out',
    )


@pytest.mark.parametrize(
    "query", ["budget NOT draft", "budget AND NOT draft", "town budget NOT draft"]
)
def test_a_word_after_not_is_no_exclusion_and_a_note_says_so(index: crx.Index, query: str) -> None:
    assert index.search(query).notes == (
        '"NOT" is searched for as a word; -draft leaves out passages that hold it',
    )


@pytest.mark.parametrize(
    "query",
    [
        "budget not draft", "BUDGET NOT DRAFT", "NOT draft", "the budget is NOT in the draft",
        "what is a NOT gate", "what must I NOT forget", "budget NOT draft?",
    ],
)  # fmt: skip
def test_a_not_that_is_no_operator_is_not_told(index: crx.Index, query: str) -> None:
    assert not [note for note in index.search(query).notes if "NOT" in note]


def test_a_word_with_a_dash_before_it_is_no_option(index: crx.Index, tmp_path: Path) -> None:
    (tmp_path / "docs" / "town.md").write_text("# Town\n\nThe pre-draft budget--draft of towns.")
    index.add(tmp_path / "docs")
    assert found(index, "budget -draft") == set(TEXTS) - {"draft.md", "notes.md"}


def test_a_neighbour_that_holds_an_excluded_word_is_not_shown(tmp_path: Path) -> None:
    index = crx.open(tmp_path / "i.crx", settings={"embedder": "none", "chunk_chars": 200})
    sentence = "Whales eat krill in the cold sea of the south every day. "
    text = "# Sea\n\n" + sentence * 3 + "\n\n" + "Sharks bite. " * 15 + "\n\n" + sentence * 3
    (tmp_path / "sea.md").write_text(text)
    index.add(tmp_path / "sea.md")
    assert "Sharks" in "".join(passage.text for passage in index.search("whales krill"))
    result = index.search("whales krill -sharks")
    assert result.passages
    assert "Sharks" not in "".join(passage.text for passage in result)


def test_a_leg_is_asked_for_more_until_enough_chunks_are_left(index: crx.Index) -> None:
    depths = []
    with index.searcher() as searcher:
        keys = np.array([hit.key for hit in index.search("budget").hits], dtype=np.int64)

        def leg(*, k: int) -> tuple[np.ndarray, np.ndarray]:
            depths.append(k)
            return keys[:k], np.ones(len(keys[:k]), np.float32)

        exclusion = Exclusion(["budget"], searcher.langs, searcher.terms, ChunkRows(searcher), {})
        assert len(exclusion.search(leg, k=1)[0]) == 0
    assert depths == [1, 4, 16]


@pytest.mark.parametrize(
    ("text", "excluded", "lang", "holds"),
    [
        ("the args of main", "parseArgs", "en", False),
        ("calls parseArgs twice", "parseArgs", "en", True),
        ("学习汉语", "机器学习", "zh", False),
        ("机器学习入门", "机器学习", "zh", True),
        ("two drafts", "draft", "en", True),
    ],
)
def test_identifiers_and_texts_without_spaces_are_excluded_whole(
    text: str, excluded: str, lang: str, *, holds: bool
) -> None:
    assert holds_excluded(text, [excluded], langs=[lang]) == holds
