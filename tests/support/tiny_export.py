"""Tiny ONNX graphs with random weights, as other programs export them, beside a tokenizer."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tiny_model import HIDDEN, WORDS, make_model

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def make_exported_embedder(
    folder: Path,
    *,
    graph: str = "model.onnx",
    inputs: Sequence[str] = INPUTS,
    precision: str = "int8",
    pooled: bool = False,
) -> Path:
    """Write a graph and a tokenizer, and nothing else, and return the folder.

    The graph gives a vector per token, (n, length, d), or with `pooled` that of the first token.
    """
    _write_tokenizer(folder)
    output = "sentence_embedding" if pooled else "last_hidden_state"
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["rows"])]
    nodes += _project("rows", "states", precision=precision)
    if pooled:
        nodes.append(helper.make_node("Gather", ["states", "first"], [output], axis=1))
    else:
        nodes.append(helper.make_node("Identity", ["states"], [output]))
    axes: list[str | int] = ["n", HIDDEN] if pooled else ["n", "length", HIDDEN]
    _save(folder / graph, nodes, inputs=inputs, output=output, axes=axes)
    return folder


def make_exported_reranker(folder: Path, *, graph: str = "model.onnx", labels: int = 1) -> Path:
    """Write a graph that gives logits per pair and a tokenizer, and return the folder."""
    _write_tokenizer(folder)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("ReduceMean", ["rows"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("MatMul", ["mean", "head"], ["logits"]),
    ]
    _save(folder / graph, nodes, inputs=INPUTS, output="logits", axes=["n", labels], labels=labels)
    return folder


def _write_tokenizer(folder: Path) -> None:
    model = make_model(folder.with_name(f"{folder.name}-whole"))
    folder.mkdir()
    (model / "tokenizer.json").rename(folder / "tokenizer.json")
    shutil.rmtree(model)


def _project(x: str, y: str, *, precision: str) -> list[onnx.NodeProto]:
    if precision == "fp32":
        return [helper.make_node("MatMul", [x, "weight"], [y])]
    return [
        helper.make_node("DynamicQuantizeLinear", [x], ["codes", "scale", "zero"]),
        helper.make_node("MatMulInteger", ["codes", "int8_weight", "zero"], ["sums"]),
        helper.make_node("Cast", ["sums"], ["whole"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["whole", "scale"], [y]),
    ]


def _save(
    path: Path,
    nodes: list[onnx.NodeProto],
    *,
    inputs: Sequence[str],
    output: str,
    axes: list[str | int],
    labels: int = 1,
) -> None:
    numbers = np.random.default_rng(0)
    weights = {
        "table": numbers.normal(0, 1, (len(WORDS), HIDDEN)).astype(np.float32),
        "weight": numbers.normal(0, 1, (HIDDEN, HIDDEN)).astype(np.float32),
        "int8_weight": numbers.integers(-60, 60, (HIDDEN, HIDDEN), np.int8),
        "head": numbers.normal(0, 1, (HIDDEN, labels)).astype(np.float32),
        "first": np.array(0, np.int64),
    }
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(each, TensorProto.INT64, ["n", "l"]) for each in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, axes)],
        [numpy_helper.from_array(weights[name], name) for name in sorted(used & weights.keys())],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    path.parent.mkdir(exist_ok=True)
    onnx.save(model, path)
