"""Addition of models that are ONNX graphs, exported by other programs."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from tiny_export import INPUTS, make_exported_embedder, make_exported_reranker
from tiny_model import HIDDEN, make_model, write_json

from crx._backends.onnx import OnnxEmbedder, load_reranker
from crx._models.source_folder import Overrides
from crx._models.store import add_model, find_model, read_cards
from crx.errors import ModelError

EMBEDDER = Overrides(kind="embedder", pooling="cls", sequence=24)
RERANKER = Overrides(kind="reranker", sequence=24)


@pytest.fixture(autouse=True)
def _own_store_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path / "data"))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "prefix"))
    monkeypatch.setattr("crx._models.store.SHIPPED", tmp_path / "shipped")


# Added graphs


def test_pooling_is_appended_to_the_own_graph_of_a_folder(tmp_path: Path) -> None:
    whole = make_model(tmp_path / "whole")
    expected = OnnxEmbedder(find_model(add_model(whole).name)).embed(["the revenue", "of"])
    bare = make_model(tmp_path / "bare")
    write_bare_graph(find_model("whole") / "model.onnx", bare / "model.onnx")
    (bare / "model.safetensors").unlink()
    assert np.allclose(
        OnnxEmbedder(find_model(add_model(bare).name)).embed(["the revenue", "of"]), expected
    )


def write_bare_graph(source: Path, target: Path) -> None:
    """Copy a graph without its pooling: the output is that of the last layer."""
    model = onnx.load(source)
    at = max(i for i, node in enumerate(model.graph.node) if node.op_type == "LayerNormalization")
    del model.graph.node[at + 1 :]
    del model.graph.output[:]
    output = onnx.helper.make_tensor_value_info(
        model.graph.node[at].output[0], onnx.TensorProto.FLOAT, ["n", "length", HIDDEN]
    )
    model.graph.output.append(output)
    onnx.save(model, target)


def test_an_int8_graph_is_added_in_int8_and_its_first_token_is_the_pooling(tmp_path: Path) -> None:
    folder = make_exported_embedder(tmp_path / "tiny")
    card = add_model(folder, overrides=EMBEDDER)
    assert (card.name, card.precision, card.pooling) == ("tiny@int8", "int8", "cls")
    assert (card.sequence, card.max_tokens, card.converter) == (24, 22, 0)
    vectors = OnnxEmbedder(find_model(card.name)).embed(["the revenue", "of", "the revenue"])
    # The first token is the same special token for every text of this model without attention.
    assert np.allclose(vectors[0], vectors[2])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


def test_a_graph_that_pools_needs_no_pooling(tmp_path: Path) -> None:
    folder = make_exported_embedder(tmp_path / "tiny", pooled=True, precision="fp32")
    card = add_model(folder, overrides=Overrides(kind="embedder", sequence=24))
    assert (card.name, card.pooling, card.dimensions) == ("tiny", "graph", HIDDEN)


@pytest.mark.parametrize("labels", [1, 2])
def test_a_reranker_without_configuration_is_added(tmp_path: Path, labels: int) -> None:
    folder = make_exported_reranker(tmp_path / "tiny", labels=labels)
    card = add_model(folder, overrides=RERANKER)
    assert (card.kind, card.sequence) == ("reranker", 24)
    assert load_reranker(card.name).score("the", ["revenue", "of"]).shape == (2,)


def test_the_files_of_the_folder_name_the_pooling_and_the_maximum(tmp_path: Path) -> None:
    folder = make_exported_embedder(tmp_path / "tiny")
    write_json(folder / "1_Pooling/config.json", {"pooling_mode_max_tokens": True})
    write_json(folder / "tokenizer_config.json", {"model_max_length": 12})
    card = add_model(folder, overrides=Overrides(kind="embedder"))
    assert (card.pooling, card.sequence) == ("max", 12)


def test_a_graph_of_another_name_is_named_by_the_option(tmp_path: Path) -> None:
    name = "onnx/model_qint8_avx512_vnni.onnx"
    folder = make_exported_embedder(tmp_path / "tiny", graph=name)
    with pytest.raises(ModelError, match=f"name one with --graph {re.escape(name)}$"):
        add_model(folder, overrides=EMBEDDER)
    named = Overrides(kind="embedder", pooling="cls", sequence=24, graph=name)
    assert add_model(folder, overrides=named).name == "tiny@int8"


# Refused graphs


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Overrides(), "no config.json, .* --kind embedder or --kind reranker"),
        (Overrides(kind="embedder", pooling="cls"), "name it with --max-tokens"),
        (Overrides(kind="embedder", sequence=24), "the pooling is unknown; .* --pooling mean"),
        (Overrides(kind="embedder", graph="../x.onnx"), "outside of it"),
        (Overrides(kind="embedder", graph="x.onnx"), "x.onnx: no such file; .* --graph"),
        (Overrides(kind="reranker", sequence=24), "not one or two labels per pair"),
    ],
)
def test_what_no_file_says_is_asked_for_by_its_option(
    tmp_path: Path, given: Overrides, message: str
) -> None:
    folder = make_exported_embedder(tmp_path / "tiny")
    with pytest.raises(ModelError, match=message):
        add_model(folder, overrides=given)
    assert read_cards() == []


def test_a_reranker_is_not_added_as_an_embedder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="add it with --kind reranker"):
        add_model(make_exported_reranker(tmp_path / "tiny"), overrides=EMBEDDER)


def test_a_maximum_above_that_of_the_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="reads at most 24 tokens, not 25"):
        add_model(make_model(tmp_path / "tiny"), overrides=Overrides(sequence=25))


def test_another_precision_than_that_of_the_graph_is_refused(tmp_path: Path) -> None:
    folder = make_exported_embedder(tmp_path / "tiny")
    with pytest.raises(ModelError, match="the graph is int8; add it with --precision int8"):
        add_model(folder, precision="fp32", overrides=EMBEDDER)
    assert os.listdir(tmp_path / "store") == []


def test_tensors_in_a_file_beside_the_graph_are_stored_with_it(tmp_path: Path) -> None:
    folder = make_exported_embedder(tmp_path / "tiny", precision="fp32")
    expected = OnnxEmbedder(find_model(add_model(folder, overrides=EMBEDDER).name)).embed(["of"])
    move_tensors(folder / "model.onnx", "model.onnx_data")
    card = add_model(folder, name="apart", overrides=EMBEDDER)
    assert sorted(card.files) == ["model.onnx", "tokenizer.json"]
    assert np.allclose(OnnxEmbedder(find_model("apart")).embed(["of"]), expected)


def test_a_file_of_tensors_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    folder = make_exported_embedder(tmp_path / "tiny", precision="fp32")
    move_tensors(folder / "model.onnx", "data")
    (folder / "data").write_bytes((folder / "data").read_bytes()[:-4])
    with pytest.raises(ModelError, match="data ends within the tensor"):
        add_model(folder, overrides=EMBEDDER)


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", "absent"])
def test_tensors_in_another_file_are_refused(tmp_path: Path, location: str) -> None:
    folder = make_exported_embedder(tmp_path / "tiny")
    move_tensors(folder / "model.onnx", "data")
    (folder / "data").rename(tmp_path / "secret")
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match=f"'{location}', which is no file beside it"):
        add_model(folder, overrides=EMBEDDER)
    assert read_cards() == []


def move_tensors(graph: Path, name: str) -> None:
    onnx.save(onnx.load(graph), graph, save_as_external_data=True, location=name, size_threshold=0)


def test_an_operator_that_the_runtime_lacks_is_named(tmp_path: Path) -> None:
    folder = make_exported_embedder(tmp_path / "tiny")
    model = onnx.load(folder / "model.onnx")
    model.graph.node[0].domain = "ai.example"
    onnx.save(model, folder / "model.onnx")
    with pytest.raises(ModelError, match=r"needs the operator Gather of ai\.example"):
        add_model(folder, overrides=EMBEDDER)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_an_input_that_crx_does_not_provide_is_named(tmp_path: Path, precision: str) -> None:
    inputs = (*INPUTS, "past_key_values")
    folder = make_exported_embedder(tmp_path / "tiny", inputs=inputs, precision=precision)
    with pytest.raises(ModelError, match="needs the inputs past_key_values, which crx does not"):
        add_model(folder, overrides=EMBEDDER)


@pytest.mark.parametrize("content", [b"", b"<html>not found</html>"])
def test_what_is_no_graph_is_refused(tmp_path: Path, content: bytes) -> None:
    folder = make_exported_embedder(tmp_path / "tiny")
    (folder / "model.onnx").write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.onnx: (empty|not an ONNX graph)") as raised:
        add_model(folder, overrides=EMBEDDER)
    assert "\n" not in str(raised.value)
