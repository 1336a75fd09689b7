"""Reranking by the states of an embedder's tokens, which its graph has before it pools them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx.external_data_helper import set_external_data
from tiny_model import make_model

from crx import _native
from crx._backends.onnx import OnnxEmbedder
from crx._backends.token_vectors import TokenStateReranker
from crx._models.card import GRAPH_FILE, Precision, file_digest, read_card, write_card
from crx._models.store import add_model, find_model
from crx._models.tokenizer import Ids, load_model_tokenizer
from crx.protocols import Reranker, TokenReranking

TEXTS = ["the revenue grew", "of the revenue", "第二", "", "the " * 60 + "revenue"]


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))


def add(tmp_path: Path, *, pooling: str = "mean_tokens", precision: Precision = "fp32") -> Path:
    source = make_model(tmp_path / "tiny", pooling=pooling, seed=1)
    return find_model(add_model(source, precision=precision).name)


def states(folder: Path, text: str, *, query: bool) -> NDArray[np.float64]:
    """Return the states by a copy of the graph whose only output they are."""
    model = onnx.load(folder / GRAPH_FILE)
    norms = [node for node in model.graph.node if node.op_type == "LayerNormalization"]
    del model.graph.output[:]
    model.graph.output.append(onnx.ValueInfoProto(name=norms[-1].output[0]))
    embedder = OnnxEmbedder(folder)
    tokens = load_model_tokenizer(folder, embedder.card)
    prefix = embedder.card.query_prefix if query else embedder.card.passage_prefix
    (ids,) = tokens.encode([text], prefix=prefix)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    inputs = {
        each.name: ids[None] if each.name == "input_ids" else 0 * ids[None] + 1
        for each in session.get_inputs()
    }
    if "token_type_ids" in inputs:
        inputs["token_type_ids"] = 0 * ids[None]
    (found,) = session.run(None, inputs)
    return np.asarray(found[0], np.float64)


def expected_score(query: NDArray[np.float64], text: NDArray[np.float64]) -> float:
    mean = (query.mean(axis=0) + text.mean(axis=0)) / 2
    best = []
    for asked in query - mean:
        cosines = [
            asked @ each / (np.linalg.norm(asked) * np.linalg.norm(each)) for each in text - mean
        ]
        best.append(max(cosines))
    return float((1 + np.mean(best)) / 2)


def reranker_of(folder: Path) -> Reranker:
    embedder = OnnxEmbedder(folder)
    assert isinstance(embedder, TokenReranking)
    found = embedder.load_token_reranker()
    assert found is not None
    return found


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_score_is_the_mean_of_the_largest_cosines_of_centred_states(
    tmp_path: Path, precision: Precision
) -> None:
    folder = add(tmp_path, precision=precision)
    query = states(folder, "revenue of the", query=True)
    expected = [expected_score(query, states(folder, text, query=False)) for text in TEXTS]
    found = reranker_of(folder).score("revenue of the", TEXTS)
    assert found.dtype == np.float32
    assert found == pytest.approx(expected, abs=1e-4)
    assert np.ptp(found) > 0.01


def test_texts_scored_in_two_calls_score_as_in_one(tmp_path: Path) -> None:
    folder = add(tmp_path, precision="int8")
    reranker = reranker_of(folder)
    apart = [reranker.score("revenue", TEXTS[:2]), reranker.score("revenue", TEXTS[2:])]
    assert np.concatenate(apart).tolist() == reranker_of(folder).score("revenue", TEXTS).tolist()
    assert reranker.score("grew", TEXTS).tolist() != np.concatenate(apart).tolist()
    assert reranker.score("grew", []).shape == (0,)


def test_the_files_the_fingerprint_and_the_vectors_of_the_model_stay(tmp_path: Path) -> None:
    folder = add(tmp_path, precision="int8")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    embedder = OnnxEmbedder(folder)
    before = embedder.fingerprint, embedder.embed(TEXTS).tolist()
    reranker = embedder.load_token_reranker()
    assert reranker is not None
    reranker.score("revenue", TEXTS)
    assert (embedder.fingerprint, embedder.embed(TEXTS).tolist()) == before
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    assert reranker.fingerprint == f"states:{embedder.fingerprint}"


def test_tensors_in_a_file_of_the_model_are_found(tmp_path: Path) -> None:
    folder = add(tmp_path)
    plain = reranker_of(folder).score("revenue", TEXTS)
    model = onnx.load(folder / GRAPH_FILE)
    tensor = max(model.graph.initializer, key=lambda each: len(each.raw_data))
    (folder / "tensors.bin").write_bytes(tensor.raw_data)
    set_external_data(tensor, location="tensors.bin", offset=0, length=len(tensor.raw_data))
    tensor.ClearField("raw_data")
    (folder / GRAPH_FILE).write_bytes(model.SerializeToString())
    card = read_card(folder)
    files = {name: file_digest(folder / name) for name in (*card.files, "tensors.bin")}
    write_card(folder, replace(card, files=files))
    assert reranker_of(folder).score("revenue", TEXTS).tolist() == plain.tolist()


def test_a_model_that_pools_otherwise_has_no_reranker(tmp_path: Path) -> None:
    assert OnnxEmbedder(add(tmp_path, pooling="cls_token")).load_token_reranker() is None


def test_a_graph_without_layer_normalization_has_no_states(tmp_path: Path) -> None:
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([node], "g", [value("x", 1, [1])], [value("y", 1, [1])])
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    assert _native.onnx_with_states(path) is None


class TextGraph:
    """A graph whose last output is one vector for each text."""

    def each(self, ids: Sequence[Ids], run: Callable[[tuple[list[int], Ids]], None]) -> None:
        run((list(range(len(ids))), np.stack(ids)))

    def run_all(self, ids: Ids) -> list[NDArray[np.generic]]:
        return [np.ones((len(ids), 4), np.float32)]


def test_a_vector_for_each_text_is_no_state_of_tokens(tmp_path: Path) -> None:
    folder = add(tmp_path)
    card = OnnxEmbedder(folder).card
    tokens = load_model_tokenizer(folder, card)
    assert not TokenStateReranker(card, tokens, TextGraph()).has_states()
