"""Models that anybody may have made, added in a child process within limits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tiny_export import make_exported_embedder
from tiny_model import make_model

from crx.errors import ModelError
from crx.models import add_model, find_model
from crx.models.adding import add_foreign_model
from crx.models.source_folder import Overrides

EMBEDDER = Overrides(kind="embedder", pooling="mean", sequence=24)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    return tmp_path / "store"


def make_hostile(folder: Path, before: Sequence[onnx.NodeProto], **tensors: np.ndarray) -> Path:
    """Write an exported embedder whose vectors wait for what other nodes make of `tensors`."""
    path = make_exported_embedder(folder, precision="fp32") / "model.onnx"
    model = onnx.load(path)
    (last,) = (node for node in model.graph.node if "last_hidden_state" in node.output)
    last.output[0] = "states_before"
    added = helper.make_node("Add", ["states_before", "waited"], ["last_hidden_state"])
    model.graph.node.extend([*before, added])
    model.graph.initializer.extend(
        numpy_helper.from_array(value, name) for name, value in tensors.items()
    )
    onnx.save(model, path)
    return folder


def endless(folder: Path) -> Path:
    """Write an embedder whose graph has a loop without an end."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go_in"], ["go_out"]),
            helper.make_node("Add", ["sum_in", "one"], ["sum_out"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("nth", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_in", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum_in", TensorProto.FLOAT, []),
        ],
        [
            helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum_out", TensorProto.FLOAT, []),
        ],
    )
    loop = helper.make_node("Loop", ["", "go", "zero"], ["waited"], body=body)
    one = np.array(1, np.float32)
    return make_hostile(folder, [loop], go=np.ones((), bool), zero=one * 0, one=one)


def greedy(folder: Path) -> Path:
    """Write an embedder whose graph asks for 16 GB."""
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["many"]),
        helper.make_node("Mul", ["many", "many"], ["squares"]),
        helper.make_node("ReduceSum", ["squares"], ["waited"], keepdims=0),
    ]
    return make_hostile(folder, nodes, shape=np.array([4_000_000_000], np.int64))


def test_a_model_is_added_as_in_this_process(tmp_path: Path, store: Path) -> None:
    made = make_model(tmp_path / "tiny")
    card = add_foreign_model(made)
    assert add_model(made, into=tmp_path / "other") == card
    assert find_model("tiny") == store / "tiny"


def test_a_model_that_is_refused_is_refused_in_the_same_words(tmp_path: Path, store: Path) -> None:
    with pytest.raises(ModelError) as here:
        add_model(tmp_path / "none")
    with pytest.raises(type(here.value)) as there:
        add_foreign_model(tmp_path / "none")
    assert str(there.value) == str(here.value)


def test_a_graph_without_an_end_is_ended_and_nothing_is_left(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx.models.adding._CPU_S", 4)
    with pytest.raises(ModelError, match=r"endless: takes more than 4 s of the processor"):
        add_foreign_model(endless(tmp_path / "endless"), overrides=EMBEDDER)
    assert list(store.iterdir()) == []


def test_a_graph_that_asks_for_more_memory_than_its_size_needs_is_refused(
    tmp_path: Path, store: Path
) -> None:
    with pytest.raises(ModelError, match="greedy"):
        add_foreign_model(greedy(tmp_path / "greedy"), overrides=EMBEDDER)
    assert list(store.iterdir()) == []


@pytest.mark.parametrize("target", ["", "/dev/zero"])
def test_a_pipe_or_a_device_that_is_called_a_graph_is_not_opened(
    tmp_path: Path, store: Path, target: str
) -> None:
    graph = make_exported_embedder(tmp_path / "tiny") / "model.onnx"
    graph.unlink()
    if target:
        graph.symlink_to(target)
    else:
        os.mkfifo(graph)
    with pytest.raises(ModelError, match=r"model\.onnx: a pipe or a device, and no file"):
        add_foreign_model(tmp_path / "tiny", overrides=EMBEDDER)
