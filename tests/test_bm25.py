"""BM25 over tantivy's postings: what it promises of scores, order, deletion and damage."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crx._native import Lexical, analyze
from crx.errors import Damaged


@dataclass(frozen=True)
class Setting:
    """What a search may set."""

    k1: float = 1.2
    b: float = 0.75
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)


#: The function words among the words below; in a query they weigh a quarter.
FUNCTION = {"the", "of", "a"}

Chunk = tuple[str, str, str]
Index = dict[int, tuple[list[int], list[Chunk]]]


def reference(index: Index, query: str, s: Setting) -> dict[int, float]:
    """Score every chunk by the formula, in the plainest way."""
    rows = {
        key: chunk
        for keys, chunks in index.values()
        for key, chunk in zip(keys, chunks, strict=True)
    }
    tf = {key: Counter[str]() for key in rows}
    length = dict.fromkeys(rows, 0.0)
    for key, chunk in rows.items():
        for weight, field in zip(s.weights, chunk, strict=True):
            terms = analyze(field, "en")
            length[key] += weight * len(terms)
            for term in terms:
                tf[key][term] += weight
    mean = sum(length.values()) / max(1, len(rows))
    scores = dict.fromkeys(rows, 0.0)
    for term in set(analyze(query, "en")):
        holders = [key for key in rows if tf[key][term] > 0]
        idf = math.log(1 + (len(rows) - len(holders) + 0.5) / (len(holders) + 0.5))
        worth = (0.25 if term in FUNCTION else 1) * idf * (s.k1 + 1)
        for key in holders:
            norm = s.k1 * (1 - s.b + s.b * length[key] / mean)
            scores[key] += worth * tf[key][term] / (tf[key][term] + norm)
    return {key: score for key, score in scores.items() if score > 0}


def put(lexical: Lexical, doc: int, keys: Sequence[int], chunks: Sequence[Chunk]) -> None:
    texts, outlines, contexts = ([chunk[i] for chunk in chunks] for i in range(3))
    lexical.put(doc, np.array(keys, dtype=np.int64), "en", texts, outlines, contexts)


WORDS = st.sampled_from(["the", "of", "a", "cat", "runs", "quickly", "parse_args", "alpha", "rare"])
FIELD = st.lists(WORDS, max_size=12).map(" ".join)
CHUNK = st.tuples(FIELD, FIELD, FIELD)
WEIGHT = st.sampled_from([0.0, 0.4, 1.0, 2.5])
SETTING = st.builds(
    Setting,
    k1=st.sampled_from([0.0, 0.9, 1.2, 3.0]),
    b=st.sampled_from([0.0, 0.75, 1.0]),
    weights=st.tuples(WEIGHT, WEIGHT, WEIGHT),
)
CHANGE = st.tuples(st.integers(0, 5), st.lists(CHUNK, max_size=5))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    commits=st.lists(st.lists(CHANGE, max_size=5), min_size=1, max_size=4),
    queries=st.lists(st.tuples(FIELD, SETTING, st.integers(1, 12)), min_size=1, max_size=5),
)
def test_scores_equal_the_formula_after_any_puts_replacements_and_removals(
    tmp_path_factory: pytest.TempPathFactory,
    commits: list[list[tuple[int, list[Chunk]]]],
    queries: list[tuple[str, Setting, int]],
) -> None:
    lexical = Lexical.open(str(tmp_path_factory.mktemp("bm25")), write=True)
    index: Index = {}
    fresh = 0
    for seq, changes in enumerate(commits, 1):
        for doc, chunks in changes:
            keys = list(range(fresh, fresh + len(chunks)))
            fresh += len(chunks)
            put(lexical, doc, keys, chunks)
            index[doc] = (keys, chunks)
        lexical.commit(seq)
    assert lexical.seq == len(commits)
    assert len(lexical) == sum(len(keys) for keys, _ in index.values())
    for query, s, k in queries:
        keys, scores = lexical.search(query, k=k, k1=s.k1, b=s.b, weights=s.weights)
        want = reference(index, query, s)
        assert len(keys) == min(k, len(want))
        assert scores.tolist() == pytest.approx(sorted(want.values(), reverse=True)[:k], rel=1e-5)
        assert scores.tolist() == pytest.approx([want[key] for key in keys.tolist()], rel=1e-5)


def test_a_folder_that_is_not_there_is_damaged_to_a_reader(tmp_path: Path) -> None:
    with pytest.raises(Damaged):
        Lexical.open(str(tmp_path / "none"))
