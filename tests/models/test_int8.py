"""Int8 weights whose products are exact on every processor, with and without VNNI."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from onnx import numpy_helper
from tiny_model import make_model

from crx._models.store import add_model, find_model
from crx_convert.layers import quantize_weight

GROUP = 4
Codes = NDArray[np.int8]


def saturating_product(activations: NDArray[np.uint8], codes: Codes) -> NDArray[np.int32]:
    """Return the product as a processor without VNNI computes it.

    `vpmaddubsw` adds the products of two consecutive rows in 16 bits and saturates.
    """
    left, right = activations.astype(np.int32), codes.astype(np.int32)
    pairs = [
        np.clip(left[:, at : at + 2] @ right[at : at + 2], -32768, 32767)
        for at in range(0, len(codes), 2)
    ]
    total: NDArray[np.int32] = np.sum(pairs, axis=0, dtype=np.int32)
    return total


def exact_product(activations: NDArray[np.uint8], codes: Codes) -> NDArray[np.int32]:
    return activations.astype(np.int32) @ codes.astype(np.int32)


def largest_pair(codes: Codes) -> int:
    """Return the largest sum, without its sign, of two codes of one sign in a group of rows."""
    rows = np.zeros((-(-len(codes) // GROUP) * GROUP, codes.shape[1]), np.int32)
    rows[: len(codes)] = codes
    groups = np.sort(rows.reshape(-1, GROUP, codes.shape[1]), axis=1)
    positive = np.maximum(groups[:, -2:], 0).sum(axis=1).max()
    negative = np.minimum(groups[:, :2], 0).sum(axis=1).min()
    return int(max(positive, -negative))


def int8_weights(graph: Path) -> Iterator[Codes]:
    """Yield the int8 weights of the matrix products of a graph."""
    model = onnx.load(graph, load_external_data=False)
    constants = {each.name: each for each in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "MatMulIntegerToFloat":
            yield numpy_helper.to_array(constants[node.input[1]])


weights = arrays(
    np.float32,
    st.tuples(st.integers(1, 11), st.integers(1, 5)),
    elements=st.floats(-4, 4, width=32),
)


@given(weights)
def test_no_pair_of_products_saturates_whatever_the_weights(weight: NDArray[np.float32]) -> None:
    codes, _ = quantize_weight(weight)
    assert largest_pair(codes) <= 128
    extremes = np.array([[255], [0], [128]], np.uint8) * np.ones((1, len(weight)), np.uint8)
    assert np.array_equal(saturating_product(extremes, codes), exact_product(extremes, codes))


@given(weights)
def test_codes_are_within_half_a_step_of_the_weights(weight: NDArray[np.float32]) -> None:
    codes, scale = quantize_weight(weight)
    assert np.all(np.abs(codes * scale - weight) <= scale * 0.5001)


def test_a_column_without_large_neighbours_keeps_eight_bits() -> None:
    weight = np.array([[1.0], [0.0], [-1.0], [0.0]], np.float32)
    codes, scale = quantize_weight(weight)
    assert codes.ravel().tolist() == [127, 0, -127, 0]
    assert scale == np.float32(1 / 127)


def test_large_neighbours_of_one_sign_share_the_range() -> None:
    weight = np.array([[1.0], [0.0], [0.0], [1.0], [1.0]], np.float32)
    codes, _ = quantize_weight(weight)
    assert codes.ravel().tolist() == [64, 0, 0, 64, 64]


def test_weights_in_eight_bits_do_saturate() -> None:
    """The sums that the bound prevents: with every code at 127, a quarter of the sum is lost."""
    codes = np.full((4, 1), 127, np.int8)
    activations = np.full((1, 4), 255, np.uint8)
    assert exact_product(activations, codes).item() == 129_540
    assert saturating_product(activations, codes).item() == 65_534


@pytest.mark.parametrize("kind", ["embedder", "reranker"])
def test_a_converted_graph_saturates_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    card = add_model(make_model(tmp_path / "tiny", head=kind == "reranker"), precision="int8")
    found = list(int8_weights(find_model(card.name) / "model.onnx"))
    assert found
    assert max(map(largest_pair, found)) <= 128


def test_the_reranker_that_crx_includes_saturates_nowhere() -> None:
    found = list(int8_weights(find_model("crx") / "model.onnx"))
    assert found
    assert max(map(largest_pair, found)) <= 128
