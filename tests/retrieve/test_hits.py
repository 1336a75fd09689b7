"""Hits: those that score much lower than the best are less relevant, wherever they are shown."""

from __future__ import annotations

from pathlib import Path

import crx
from crx.retrieve.hits import RELEVANT_SHARE

TEXTS = {
    "answer": "The narwhal tusk is a tooth, which the narwhal grows in a spiral.",
    **{f"note{at}": f"The ship {at} sailed north, and a tooth of the wheel broke." for at in "abc"},
}
QUERY = "narwhal tusk tooth"


def write_texts(folder: Path) -> None:
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.md").write_text(text)


def test_a_hit_with_a_small_share_of_the_best_score_is_less_relevant(tmp_path: Path) -> None:
    write_texts(tmp_path / "docs")
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add(tmp_path / "docs")
        result = index.search(QUERY)
    best, *others = result.hits
    assert not best.less_relevant
    assert [each.less_relevant for each in others] == [True] * 3
    assert all(each.score < RELEVANT_SHARE * best.score for each in others)
    assert [each.less_relevant for each in result] == [False, True, True, True]


def test_equal_hits_are_all_relevant(tmp_path: Path) -> None:
    write_texts(tmp_path / "docs")
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add(tmp_path / "docs")
        assert not any(each.less_relevant for each in index.search("ship").hits)
