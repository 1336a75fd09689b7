"""A graph reads tensors from the files of its model, and from no others."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.external_data_helper import set_external_data
from tiny_model import make_model

from crx._backends.onnx import OnnxEmbedder, load_reranker, open_model
from crx._models.card import CARD_FILE, GRAPH_FILE, file_digest
from crx._models.onnx_folder import external_files
from crx._models.store import add_model, find_model
from crx.errors import ModelError

OUTSIDE = ("../secret.bin", "/etc/hostname", "sub/../../secret.bin", "other.bin")


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))


def move_tensor(graph: Path, location: str) -> None:
    """Rewrite a graph so that its largest tensor is read from another file."""
    model = onnx.load(graph, load_external_data=False)
    tensor = max(model.graph.initializer, key=lambda each: len(each.raw_data))
    place = graph.parent / location
    if not place.exists():
        place.write_bytes(tensor.raw_data)
    set_external_data(tensor, location=location, offset=0, length=len(tensor.raw_data))
    tensor.ClearField("raw_data")
    graph.write_bytes(model.SerializeToString())


def rehash(folder: Path) -> None:
    """Make a card match a graph that was changed, as whoever made the folder could."""
    card = json.loads((folder / CARD_FILE).read_text())
    card["files"][GRAPH_FILE] = file_digest(folder / GRAPH_FILE)
    (folder / CARD_FILE).write_text(json.dumps(card))


@pytest.mark.parametrize("location", OUTSIDE)
def test_an_embedder_that_reads_another_file_is_refused(tmp_path: Path, location: str) -> None:
    folder = find_model(add_model(make_model(tmp_path / "tiny")).name)
    (folder / "sub").mkdir()
    move_tensor(folder / GRAPH_FILE, location)
    rehash(folder)
    with pytest.raises(ModelError, match=f"reads tensors from '{location}', which is no file of"):
        OnnxEmbedder(folder)


def test_a_reranker_of_a_folder_is_refused_likewise(tmp_path: Path) -> None:
    stored = find_model(add_model(make_model(tmp_path / "tiny", head=True)).name)
    folder = tmp_path / "tiny"
    (folder / GRAPH_FILE).write_bytes((stored / GRAPH_FILE).read_bytes())
    move_tensor(folder / GRAPH_FILE, "../secret.bin")
    with pytest.raises(ModelError, match=r"reads tensors from '\.\./secret\.bin'"):
        open_model(folder)


def test_a_file_of_the_folder_is_read_and_part_of_the_fingerprint(tmp_path: Path) -> None:
    stored = find_model(add_model(make_model(tmp_path / "tiny", head=True)).name)
    folder = tmp_path / "tiny"
    (folder / GRAPH_FILE).write_bytes((stored / GRAPH_FILE).read_bytes())
    move_tensor(folder / GRAPH_FILE, "tensors.bin")
    reranker = load_reranker(str(folder))
    scores = reranker.score("revenue", ["the revenue grew"])
    assert np.allclose(scores, load_reranker(str(stored)).score("revenue", ["the revenue grew"]))
    assert reranker.card.files["tensors.bin"] == file_digest(folder / "tensors.bin")


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    stored = find_model(add_model(make_model(tmp_path / "tiny", head=True)).name)
    folder = tmp_path / "tiny"
    (folder / GRAPH_FILE).write_bytes((stored / GRAPH_FILE).read_bytes())
    move_tensor(folder / GRAPH_FILE, "tensors.bin")
    (folder / "tensors.bin").rename(tmp_path / "elsewhere.bin")
    (folder / "tensors.bin").symlink_to(tmp_path / "elsewhere.bin")
    with pytest.raises(ModelError, match=r"reads tensors from 'tensors\.bin'"):
        open_model(folder)


def outside() -> TensorProto:
    tensor = helper.make_tensor("hidden", TensorProto.FLOAT, [1], bytes(4), raw=True)
    set_external_data(tensor, location="../secret.bin")
    return tensor


def graph_of(
    *nodes: onnx.NodeProto,
    initializer: Sequence[TensorProto] = (),
    sparse_initializer: Sequence[onnx.SparseTensorProto] = (),
) -> onnx.GraphProto:
    return helper.make_graph(
        list(nodes), "g", [], [], initializer, sparse_initializer=sparse_initializer
    )


def branch() -> onnx.GraphProto:
    """A graph in an attribute of a node of a graph in an attribute of a node."""
    inner = graph_of(helper.make_node("Constant", [], ["x"], value=outside()))
    return graph_of(helper.make_node("If", ["c"], ["y"], then_branch=inner))


def sparse() -> onnx.SparseTensorProto:
    return onnx.SparseTensorProto(values=outside(), dims=[1])


@pytest.mark.parametrize(
    "make",
    [
        lambda: graph_of(initializer=[outside()]),
        lambda: graph_of(sparse_initializer=[sparse()]),
        lambda: graph_of(helper.make_node("Constant", [], ["x"], value=outside())),
        lambda: graph_of(helper.make_node("If", ["c"], ["y"], then_branch=branch())),
    ],
    ids=["initializer", "sparse", "attribute", "nested"],
)
def test_a_name_is_found_wherever_a_tensor_may_be(
    tmp_path: Path, make: Callable[[], onnx.GraphProto]
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(helper.make_model(make()).SerializeToString())
    assert external_files(path) == {"../secret.bin"}


@pytest.mark.parametrize("data", [b"", b"\x3a\xff\xff\xff\xff\x0f", b"\x3b", b"\x3a\x02\x2a"])
def test_another_file_is_no_graph(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.onnx").write_bytes(data)
    with pytest.raises(ModelError, match="not an ONNX graph"):
        external_files(tmp_path / "model.onnx")
