"""Milliseconds of the stages of one search."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx.retrieve.stage_timer import StageTimer


def test_every_stage_of_a_search_is_timed(tmp_path: Path) -> None:
    (tmp_path / "whales.txt").write_text("Blue whales eat krill, four tonnes a day.\n")
    settings = {"embedder": "hashed", "contexts": "none"}
    with crx.open(tmp_path / "index", settings=settings) as index:
        index.add(tmp_path / "whales.txt")
        timings = index.search("krill tonnes", where={"lang": "en"}, rerank=False).timings_ms
    assert timings is not None
    assert set(timings) == {
        "spelling",
        "filter",
        "embed",
        "bm25",
        "dense",
        "retrieve",
        "fuse",
        "unknown_words",
        "verbatim",
        "hits",
        "widen",
    }
    assert all(ms > 0 for ms in timings.values())
    assert timings["retrieve"] >= max(timings[leg] for leg in ("embed", "dense"))


def test_a_stage_that_fails_is_timed() -> None:
    timer = StageTimer()
    with pytest.raises(KeyError), timer.stage("read"):
        raise KeyError
    assert list(timer.timings_ms) == ["read"]
