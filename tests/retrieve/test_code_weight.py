"""The weight of the dense leg among source code."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx

CODE = "def {name}(values):\n    return [{name}_one(value) for value in values]\n"
PROSE = "The {name} stands at the river bend, and eats what swims by."


def document(name: str, form: str) -> crx.Document:
    text = form.format(name=name)
    return crx.Document(f"mem:{name}", text, title=name)


def best_score(folder: Path, form: str, *, contexts: str = "outline") -> float:
    """Return the fused score of the chunk that both legs find first."""
    settings = {"embedder": "hashed", "bm25_weight": 0.7, "dense_weight": 0.3, "reranker": ""}
    with crx.open(folder, settings=settings) as index:
        for name in ("heron", "stork", "crane"):
            index.add_documents([document(name, form)], contexts=contexts)
        hits = index.search("stork").hits
    assert hits[0].uri == "mem:stork"
    assert {stage.rank for stage in hits[0].stages.values()} == {1}
    return hits[0].score


def test_the_dense_leg_weighs_half_as_much_again_among_source_code_with_outlines(
    tmp_path: Path,
) -> None:
    assert best_score(tmp_path / "prose", PROSE) == pytest.approx(0.7 + 0.3)
    assert best_score(tmp_path / "code", CODE) == pytest.approx(0.7 + 1.5 * 0.3)
    assert best_score(tmp_path / "bare", CODE, contexts="none") == pytest.approx(0.7 + 0.3)
