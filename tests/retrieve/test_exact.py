"""Exact matches: what counts as a phrase, and its place before all else."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx.retrieve.exact import find_phrases


@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ("error:  No such\nfile", ["error: no such file"]),
        ("parseArgs", ["parseargs"]),
        ("--guess-dummy", ["--guess-dummy"]),
        ("lxc.start.order", ["lxc.start.order"]),
        ('what does "too many levels" mean', ["too many levels"]),
        ("what do whales eat?", []),
        ("whales", []),
        ("Whales", []),
        ("a b", []),
        ('the "krill" question', ['the "krill" question']),
    ],
)
def test_phrases_are_whole_queries_identifiers_and_what_is_quoted(
    query: str, phrases: list[str]
) -> None:
    assert find_phrases(query) == phrases


@pytest.fixture
def index(tmp_path: Path) -> crx.Index:
    folder = tmp_path / "docs"
    folder.mkdir()
    many = "The disk is full. Full disk, no space, device left: space on the device is left. "
    for number in range(8):
        (folder / f"near{number}.md").write_text(f"# Space on the device {number}\n\n{many * 2}\n")
    (folder / "exact.md").write_text(
        "# Notes\n\n" + "A long page about many other things. " * 8 + "No space left\non device\n"
    )
    (folder / "order.md").write_text("# Start\n\nOrder lxc to start: lxc start, start order.\n")
    (folder / "option.md").write_text("# Other\n\nAmong others there is lxc.start.order, too.\n")
    index = crx.open(tmp_path / "notes.crx", settings={"embedder": "hashed", "chunk_chars": 800})
    index.add(folder)
    return index


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("no space left on device", "exact.md"),
        ('why "no space left" on the device disk', "exact.md"),
        ("lxc.start.order", "option.md"),
    ],
)
def test_the_chunk_that_holds_the_query_as_it_is_comes_first(
    index: crx.Index, query: str, name: str
) -> None:
    result = index.search(query, k=5)
    assert Path(result[0].uri).name == name
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert len(result.hits) == 5


def test_a_phrase_that_ends_within_a_word_is_no_match(index: crx.Index) -> None:
    exact = index.search("no space left on dev", k=5).hits[0]
    assert Path(exact.uri).name != "exact.md"
