"""Hits as records of a framework."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import crx
from crx_serve.integrations.located_hits import (
    SearchWarning,
    locate_hits,
    open_index,
    score_texts,
)


class _Lengths:
    """Scores texts by their length."""

    fingerprint = "lengths"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([len(text) / 1000 for text in texts], np.float32)


def test_a_record_has_the_exact_span_its_lines_and_the_passage_around_it(
    index: crx.Index,
) -> None:
    (best, *_) = locate_hits(index.search("humpback song", window="grow"))
    uri = best.hit.uri
    row = index.store.document(uri)
    assert row is not None
    text = index.store.text(row.doc)
    assert Path(uri).name == "whales.md"
    assert best.hit.text == text[best.hit.start : best.hit.end]
    assert best.id == f"{uri}#{best.hit.start}-{best.hit.end}"
    assert best.metadata["lines"] == [5, 7]
    assert best.hit.text in str(best.metadata["window"])
    assert best.metadata["headings"] == ["Whales", "Song"]


def test_a_hit_in_no_passage_has_no_window(index: crx.Index) -> None:
    result = index.search("whales", budget_tokens=1)
    assert len(result.hits) > sum(len(passage.hits) for passage in result.passages)
    assert "window" not in locate_hits(result)[-1].metadata


def test_texts_are_scored_together_with_their_outline_and_context() -> None:
    records = [("bread", {"outline": "Kitchen", "context": ""}), ("whales", {})]
    ranked = score_texts(_Lengths(), "?", records)
    assert [at for at, _ in ranked] == [0, 1]
    assert [round(1000 * score) for _, score in ranked] == [len("Kitchen\nbread"), len("whales")]
    assert score_texts(_Lengths(), "?", []) == []


def test_a_path_that_is_no_index_is_not_made_one(tmp_path: Path) -> None:
    with pytest.raises(crx.NotAnIndex):
        open_index(tmp_path / "none.crx")
    assert not (tmp_path / "none.crx").exists()


def test_scores_are_a_share_of_the_best_one_with_and_without_an_embedder(index: crx.Index) -> None:
    for legs in (("bm25", "dense"), ("bm25",), ("dense",)):
        found = locate_hits(index.search("whales sing", legs=legs))
        scores = [each.score for each in found]
        assert scores[0] == 1.0
        assert all(0.0 <= score <= 1.0 for score in scores)
        assert [each.metadata["score"] for each in found] == scores


def test_a_search_that_did_less_than_it_was_asked_is_a_warning(
    index: crx.Index, tmp_path: Path
) -> None:
    (tmp_path / "docs" / "late.md").write_text("# Late\n\nWhales came late.\n")
    index.add(tmp_path / "docs", words_only=True)
    with pytest.warns(SearchWarning, match="found by words alone until they have their vector"):
        locate_hits(index.search("whales"))
    index.embed()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        locate_hits(index.search("whales -bread"))
