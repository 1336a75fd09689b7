"""Weights of the int8 graph of crx's reranker, as a folder that transformers reads.

The weights in single precision of the shipped reranker were not kept. A code stands for all weights
that are rounded to it, and a random one of them is taken: training moves most weights by less than
half a step, so weights exactly on the codes would be rounded back, and the training be lost.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.numpy import save_file

from crx._models.card import GRAPH_FILE, TOKENIZER_FILE

Array = NDArray[np.float32]

_EMBEDDINGS = "bert.embeddings"
SEED = 5
# The matrix products of a layer, in the order of the graph.
_LINEARS = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
_NORMS = ("attention.output.LayerNorm", "output.LayerNorm")


def dequantize(model: Path, into: Path) -> None:
    """Write the weights of a model's folder in single precision, with config and tokenizer.

    The graph must be one of converter 3 with fused attention, as the shipped one is.
    """
    tensors = read_tensors(onnx.load(model / GRAPH_FILE))
    words, hidden = tensors[f"{_EMBEDDINGS}.word_embeddings.weight"].shape
    positions = len(tensors[f"{_EMBEDDINGS}.position_embeddings.weight"])
    config = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": hidden,
        "intermediate_size": len(tensors["bert.encoder.layer.0.intermediate.dense.weight"]),
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": positions,
        "num_attention_heads": hidden // 32,
        "num_hidden_layers": sum(name.endswith("self.query.weight") for name in tensors),
        "num_labels": 1,
        "type_vocab_size": 2,
        "vocab_size": words,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    into.mkdir(parents=True, exist_ok=True)
    save_file(tensors, into / "model.safetensors", metadata={"format": "pt"})
    (into / "config.json").write_text(json.dumps(config, indent=1))
    shutil.copyfile(model / TOKENIZER_FILE, into / TOKENIZER_FILE)


def read_tensors(model: onnx.ModelProto) -> dict[str, Array]:
    """Return the weights of a reranker's int8 graph under the names of transformers."""
    graph = _Graph(model)
    tensors = {f"{_EMBEDDINGS}.{name}.weight": value for name, value in graph.embeddings().items()}
    embedding_norm, *norms = graph.nodes("LayerNormalization")
    tensors |= graph.norm(embedding_norm, f"{_EMBEDDINGS}.LayerNorm")
    for at, node in enumerate(norms):
        layer, part = divmod(at, len(_NORMS))
        tensors |= graph.norm(node, f"bert.encoder.layer.{layer}.{_NORMS[part]}")
    for at, (weight, bias) in enumerate(graph.linears()):
        layer, part = divmod(at, len(_LINEARS))
        name = f"bert.encoder.layer.{layer}.{_LINEARS[part]}"
        tensors |= {f"{name}.weight": np.ascontiguousarray(weight.T), f"{name}.bias": bias}
    return tensors | graph.head()


class _Graph:
    """The nodes and constants of a graph."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._random = np.random.default_rng(SEED)
        self._nodes: list[onnx.NodeProto] = list(model.graph.node)
        self._constants = {
            each.name: numpy_helper.to_array(each) for each in model.graph.initializer
        }

    def nodes(self, kind: str) -> list[onnx.NodeProto]:
        return [node for node in self._nodes if node.op_type == kind]

    def embeddings(self) -> dict[str, Array]:
        codes, scales, segments = (
            self._constants[node.input[0]]
            for node in self.nodes("Gather")
            if node.input[0] in self._constants
        )
        positions = self._constants[self.nodes("Slice")[0].input[0]]
        return {
            "word_embeddings": codes.astype(np.float32) * scales,
            "token_type_embeddings": segments.astype(np.float32),
            "position_embeddings": positions.astype(np.float32),
        }

    def norm(self, node: onnx.NodeProto, name: str) -> dict[str, Array]:
        _, scale, shift = node.input
        return {f"{name}.weight": self._constants[scale], f"{name}.bias": self._constants[shift]}

    def linears(self) -> Iterator[tuple[Array, Array]]:
        """Yield the (inputs, outputs) weight and the bias of each linear layer.

        Query, key and value of a layer are the columns of one product or of two; the bias of all
        three is added by the attention.
        """
        attention = iter(self.nodes("MultiHeadAttention"))
        columns: list[Array] = []
        for node in self.nodes("MatMulIntegerToFloat"):
            weight = self._weight(node)
            scaled = self._user(node, "Mul")
            sums = [each for each in self.nodes("Sum") if scaled.output[0] in each.input]
            if sums:
                yield weight, self._constant_of(sums[0])
                continue
            columns.append(weight)
            if sum(part.shape[1] for part in columns) == 3 * len(weight):
                bias = self._constants[next(attention).input[3]]
                weights = np.split(np.concatenate(columns, axis=1), 3, axis=1)
                yield from zip(weights, np.split(bias, 3), strict=True)
                columns.clear()

    def _weight(self, node: onnx.NodeProto) -> Array:
        _, codes, _, scale = node.input[:4]
        rounded = self._constants[codes].astype(np.float32)
        noise = self._random.uniform(-0.5, 0.5, rounded.shape).astype(np.float32)
        weight: Array = (rounded + noise) * self._constants[scale]
        return weight

    def head(self) -> dict[str, Array]:
        """Return the classification head: the last two products in single precision."""
        tensors = {}
        last = self._nodes[-8:]
        adds = [node for node in last if node.op_type == "Add"]
        products = [node for before, node in pairwise(last) if before.op_type == "Cast"]
        casts = {node.output[0]: node.input[0] for node in last if node.op_type == "Cast"}
        for name, product, add in zip(
            ("bert.pooler.dense", "classifier"), products, adds, strict=True
        ):
            weight = self._constants[casts[product.input[1]]].astype(np.float32)
            tensors[f"{name}.weight"] = np.ascontiguousarray(weight.T)
            tensors[f"{name}.bias"] = self._constant_of(add)
        return tensors

    def _user(self, node: onnx.NodeProto, kind: str) -> onnx.NodeProto:
        users = (each for each in self.nodes(kind) if node.output[0] in each.input)
        return next(users)

    def _constant_of(self, node: onnx.NodeProto) -> Array:
        return next(self._constants[name] for name in node.input if name in self._constants)
