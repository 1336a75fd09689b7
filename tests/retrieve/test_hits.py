"""Hits: those that score much lower than the best are less relevant, wherever they are shown."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import crx
from crx import _native
from crx.retrieve.hits import RELEVANT_SHARE
from crx.types import Hit, Stage

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


def test_hits_are_made_of_rows_of_the_store_and_of_others() -> None:
    row = SimpleNamespace(
        key=7, uri="mem:a", title="A", ordinal=1, start=2, end=5, text="tusk", outline="B > C",
        context="",
    )  # fmt: skip
    rankings = [
        ("bm25", np.array([9, 7], np.int64), np.array([2.0, 1.5])),
        ("dense", np.array([9], np.int64), np.array([0.5])),
    ]
    (hit,) = _native.make_hits(
        Hit,
        Stage,
        [cast(Any, row)],
        scores=[0.25],
        rankings=rankings,
        copies=[2],
        also_in=[("mem:b",)],
        least=0.5,
    )
    assert hit == Hit(
        key=7, score=0.25, uri="mem:a", title="A", ordinal=1, start=2, end=5, text="tusk",
        outline="B > C", context="", stages={"bm25": Stage(2, 1.5)}, copies=2,
        also_in=("mem:b",), less_relevant=True,
    )  # fmt: skip
    with pytest.raises(TypeError, match="Stage: has other fields than are set here"):
        _native.make_hits(
            Stage, Stage, [], scores=[], rankings=[], copies=[], also_in=[], least=0.0
        )
    with pytest.raises(ValueError, match="1, 0 and 0 values for 0 rows"):
        _native.make_hits(
            Hit, Stage, [], scores=[1.0], rankings=[], copies=[], also_in=[], least=0.0
        )
