"""The parts of the reranker's recipe that need no torch: weights of its graph, and excerpts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from models.reranker.distil.average import WEIGHTS, average
from models.reranker.distil.dequantize import dequantize
from models.reranker.distil.excerpt import Ids, PairReader, find_excerpt
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from crx._models.store import add_model, find_model
from crx.registry import load_reranker
from crx_convert.layers import quantize_weight

QUERY = "how many people live in berlin"
TEXTS = [
    "Berlin has a population of 3,520,031 registered inhabitants.",
    "New York is famous for its museums.",
    "json.loads parses a document.",
]


def ids(*values: int) -> Ids:
    return np.array(values, np.int64)


def test_dequantized_weights_score_as_the_graph_that_they_come_from(tmp_path: Path) -> None:
    dequantize(find_model("crx"), tmp_path / "weights")
    add_model(tmp_path / "weights", name="again", precision="int8", into=tmp_path / "store")
    shipped = load_reranker("crx").score(QUERY, TEXTS)
    again = load_reranker(str(tmp_path / "store" / "again@int8")).score(QUERY, TEXTS)
    logits = [np.log(scores / (1 - scores)) for scores in (shipped, again)]
    assert np.abs(logits[0] - logits[1]).max() < 0.3
    assert list(np.argsort(shipped)) == list(np.argsort(again))


def test_a_change_of_a_fifth_of_a_step_is_not_rounded_away(tmp_path: Path) -> None:
    dequantize(find_model("crx"), tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    weight = weights["bert.encoder.layer.0.output.dense.weight"].T
    step = np.asarray(quantize_weight(weight)[1])

    def rounded(values: NDArray[np.float32]) -> NDArray[np.float32]:
        codes, scale = quantize_weight(values)
        product: NDArray[np.float32] = codes * scale
        return product

    moved = (rounded(weight + 0.2 * step) - rounded(weight)) / step
    assert np.mean(moved) == pytest.approx(0.2, abs=0.05)


def test_a_mean_of_weights_counts_each_folder_by_its_share(tmp_path: Path) -> None:
    for name, value in {"last": 1.0, "start": 3.0}.items():
        (tmp_path / name).mkdir()
        save_file({"bias": np.full(2, value, np.float32)}, tmp_path / name / WEIGHTS)
    (tmp_path / "last" / "config.json").write_text("{}")
    average({tmp_path / "last": 3, tmp_path / "start": 1}, tmp_path / "mean")
    assert load_file(tmp_path / "mean" / WEIGHTS)["bias"].tolist() == [1.5, 1.5]
    assert (tmp_path / "mean" / "config.json").read_text() == "{}"


def test_an_excerpt_holds_as_many_distinct_terms_as_it_can() -> None:
    text = ids(7, 7, 7, 7, 0, 0, 1, 0, 2, 0, 0, 0)
    assert list(find_excerpt(ids(1, 2, 7), text, 4)) in ([0, 1, 0, 2], [1, 0, 2, 0])


def test_an_excerpt_without_a_term_is_the_beginning() -> None:
    assert list(find_excerpt(ids(9), ids(1, 2, 3, 4), 2)) == [1, 2]


def test_a_text_that_fits_is_its_own_excerpt() -> None:
    assert list(find_excerpt(ids(3), ids(1, 2, 3), 5)) == [1, 2, 3]


def test_a_pair_is_the_query_the_outline_and_the_excerpt() -> None:
    reader = PairReader(find_model("crx") / "tokenizer.json")
    pair = reader.pair("berlin", "a city", "filler " * 50 + "berlin " + "filler " * 50, tokens=24)
    first, separator, berlin = 101, 102, pair.ids[1]
    assert len(pair.ids) == 24
    assert pair.ids[0] == first
    assert list(np.flatnonzero(pair.ids == separator)) == [2, 23]
    assert list(pair.segment_ids) == [0] * 3 + [1] * 21
    assert berlin in pair.ids[3:]
