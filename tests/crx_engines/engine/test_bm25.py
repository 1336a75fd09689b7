"""BM25 as sparse vectors gives the scores of the native leg."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crx import _native
from crx_engines.engine.bm25 import count_terms, idf, query_weights
from crx_engines.engine.protocol import Saturation
from crx_engines.folder.copy import open_engine

QUERIES = [
    "how does the server answer a search",
    "what is kept in crx.db",
    "CRX_OFFLINE=1 --index",
    "龙头山的寺庙什么时候修复",
    "黑豹队的防守 in 2015",
    "the",
]
SATURATIONS = [
    Saturation(),
    Saturation(k1=0.9, b=0.4, weights=(1.0, 2.0, 0.5)),
    Saturation(weights=(1.0, 0.0, 1.0)),
]


@pytest.mark.parametrize("saturation", SATURATIONS)
@pytest.mark.parametrize("query", QUERIES)
def test_the_inner_product_of_chunk_and_query_is_the_native_score(
    folder: Path, query: str, saturation: Saturation
) -> None:
    engine = open_engine(str(folder))
    with engine.snapshot() as snapshot:
        langs = snapshot.stats().langs
        terms = _native.query_words(query, langs=langs)
        weights = dict(query_weights(terms, snapshot=snapshot, saturation=saturation))
        mean = snapshot.stats().mean_length(saturation)
        sparse = list(weights.items())
        ranking = snapshot.sparse_topk(sparse, k=20, saturation=saturation, where=None)
        native = _native.Lexical.open(str(folder / "derived" / "bm25"))
        keys, scores = native.search(
            query,
            k=20,
            langs=langs,
            k1=saturation.k1,
            b=saturation.b,
            weights=saturation.weights,
        )
        expected = []
        for row in snapshot.rows(keys.tolist()):
            counted = count_terms((row.text, row.outline, row.context), lang=row.lang)
            length = np.dot(saturation.weights, counted.lengths)
            norm = saturation.k1 * (1 - saturation.b + saturation.b * length / mean)
            tfs = {t: np.dot(saturation.weights, each) for t, each in counted.counts.items()}
            held = [(w, tfs[t]) for t, w in sparse if tfs.get(t)]
            expected.append(sum(weight * tf / (tf + norm) for weight, tf in held))
    engine.close()
    assert len(keys) > 0
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    np.testing.assert_array_equal(ranking.keys, keys)
    np.testing.assert_allclose(ranking.scores, scores, atol=1e-4)


def test_document_frequencies_count_fields_of_positive_weight_alone(folder: Path) -> None:
    engine = open_engine(str(folder))
    with engine.snapshot() as snapshot:
        rows = snapshot.rows(range(1, snapshot.stats().chunks + 1))
        counted = [count_terms((row.text, row.outline, row.context), lang=row.lang) for row in rows]
        terms = ["search", "index", "寺庙"]
        for weights in ((1.0, 1.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
            expected = [
                sum(np.dot(each.counts.get(term, (0, 0, 0)), weights) > 0 for each in counted)
                for term in terms
            ]
            saturation = Saturation(weights=weights)
            assert snapshot.doc_freqs(terms, saturation=saturation) == expected
    engine.close()


def test_a_rare_term_weighs_more_than_a_frequent_one() -> None:
    assert idf(1000, 1) > idf(1000, 999) > 0
