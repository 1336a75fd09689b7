"""A BERT-family encoder as one ONNX graph, pooling and normalization inside.

The graph is plain ONNX, for texts of one length: there is no padding and so no mask. Weights are
stored in half precision and cast when the graph is loaded; arithmetic is in single precision.
With `precision="int8"` the large weights are signed bytes with a scale a column, and activations
are quantized as they come, each token's row by a scale of its own. That is finer than a scale a
tensor (`DynamicQuantizeMatMul`), where one token's outlier coarsens all others, and what comes of
a text does not depend on what else is in its batch.

A reranker's last layer is computed for the first token alone, which is all that its classifier
reads: the others are read there as keys and values only.

Inputs are `input_ids` (n, length) int64 and, for rerankers that tell segments apart,
`token_type_ids` of that shape. The output is `vectors` (n, d) float32 unit rows, or `logits` (n,)
float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from crx.models.card import Pooling, Precision
from crx.models.convert.weights import EncoderWeights, Layer, Linear, Norm
from crx.models.source_folder import Architecture

OPSET = 20
VECTORS = "vectors"
LOGITS = "logits"
_RUNTIME = "com.microsoft"
# Rows of nothing but zeros have a scale too.
_TINY = np.finfo(np.float32).tiny
_AXES_ARE_INPUTS = 18
# The byte that stands for 0 in a row of either sign.
_MIDDLE = 128
# GELU's least value is -0.17004 (exact) or -0.17003 (by tanh); so many bytes are kept for it.
_LEAST_GELU = 0.1701
_GELU_ZERO = 32


def write_graph(
    weights: EncoderWeights, shape: Architecture, *, pooling: Pooling, precision: Precision
) -> onnx.ModelProto:
    """Return the graph of a model: a reranker's where the weights have a head."""
    writer = _Encoder(shape, precision)
    x = writer.encode(weights)
    graph = writer.graph
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "length"])]
    if weights.head is not None:
        graph.op("Reshape", writer.head(x, weights), graph.integers(-1), output=LOGITS)
        if tells_segments(weights):
            inputs.append(
                helper.make_tensor_value_info("token_type_ids", TensorProto.INT64, ["n", "length"])
            )
        output = helper.make_tensor_value_info(LOGITS, TensorProto.FLOAT, ["n"])
    else:
        pooled = writer.project(_pool(graph, x, pooling), weights)
        _unit(graph, pooled)
        size = weights.dense[-1].linear.bias.size if weights.dense else shape.hidden
        output = helper.make_tensor_value_info(VECTORS, TensorProto.FLOAT, ["n", size])
    body = helper.make_graph(graph.nodes, "crx", inputs, [output], graph.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(_RUNTIME, 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=9, producer_name="crx")


def tells_segments(weights: EncoderWeights) -> bool:
    """Tell whether a model reads which of a pair's two parts a token is of."""
    return weights.head is not None and len(weights.segments) > 1


def append_pooling(
    model: onnx.ModelProto, *, output: str, dimensions: int, pooling: Pooling
) -> onnx.ModelProto:
    """Return the model with pooling and normalization after its (n, length, d) or (n, d) output.

    `pooling="graph"` says that the output is pooled already.
    """
    opsets = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    graph = _GraphWriter(max(opsets), mark="crx_pooling")
    if pooling == "graph":
        sizes = graph.integers(-1, 1, dimensions)
        pooled = graph.op("Reshape", output, sizes)
    else:
        pooled = _pool(graph, output, pooling)
    _unit(graph, pooled)
    model.graph.node.extend(graph.nodes)
    model.graph.initializer.extend(graph.constants)
    del model.graph.output[:]
    model.graph.output.append(
        helper.make_tensor_value_info(VECTORS, TensorProto.FLOAT, ["n", dimensions])
    )
    return model


class _GraphWriter:
    """Nodes and constants in the order they are written; a tensor is known by its name."""

    def __init__(self, opset: int, *, mark: str) -> None:
        self.opset = opset
        self._mark = mark
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def op(
        self,
        kind: str,
        *inputs: str,
        domain: str = "",
        output: str = "",
        **attributes: int | float | str | list[int] | onnx.TensorProto,
    ) -> str:
        output = output or f"{self._mark}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))  # type: ignore[arg-type]
        return output

    def constant(self, value: NDArray[np.generic] | np.generic) -> str:
        name = f"{self._mark}_constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))


@dataclass(frozen=True, slots=True)
class _Bytes:
    """A tensor as bytes: (values - zero) * scale, with a scale a row; all by their names."""

    values: str
    scale: str
    zero: str


class _Encoder:
    """Writes an encoder of one shape, in one precision."""

    def __init__(self, shape: Architecture, precision: Precision) -> None:
        self.graph = _GraphWriter(OPSET, mark="crx")
        self._shape = shape
        self._precision = precision

    def encode(self, weights: EncoderWeights) -> str:
        """Write the encoder; returns its (n, length, hidden) output.

        A reranker's is (n, 1, hidden).
        """
        x = self._norm(self._embeddings(weights), weights.norm)
        *below, last = weights.layers
        for layer in below:
            x = self._layer(x, x, layer)
        asked = x
        if weights.head is not None:
            asked = self.graph.op("Gather", x, self.graph.integers(0), axis=1)
        return self._layer(asked, x, last)

    def project(self, x: str, weights: EncoderWeights) -> str:
        """Write the dense projections of a pooled vector."""
        for dense in weights.dense:
            x = self._single(x, dense.linear)
            x = self.graph.op("Tanh", x) if dense.activation == "tanh" else x
        return x

    def head(self, x: str, weights: EncoderWeights) -> str:
        """Write a reranker's classifier over the (n, 1, hidden) first tokens: (n, 1, 1)."""
        if weights.head is None:
            raise ValueError("the model has no classifier")
        hidden = self.graph.op("Tanh", self._single(x, weights.head.dense))
        return self._single(hidden, weights.head.out)

    def _embeddings(self, weights: EncoderWeights) -> str:
        # Only the rows that are looked up are cast: a cast of the whole table is a third of the
        # time a load takes.
        graph = self.graph
        one, length = graph.integers(1), graph.op("Shape", "input_ids", start=1, end=2)
        positions = weights.positions
        words = self._words(weights)
        if not tells_segments(weights):
            positions = positions + weights.segments[0]
        else:
            words = graph.op("Add", words, self._rows(weights.segments, "token_type_ids"))
        table = graph.constant(positions.astype(np.float16))
        zero = graph.integers(0)
        rows = graph.op("Slice", table, zero, length, zero, one)
        return graph.op("Add", words, graph.op("Cast", rows, to=TensorProto.FLOAT))

    def _words(self, weights: EncoderWeights) -> str:
        """Write the rows of the word table; an int8 reranker's has a scale a row and half the size.

        An embedder's stays in half precision: its vectors are kept, and must not move.
        """
        if self._precision == "fp32" or weights.head is None:
            return self._rows(weights.words, "input_ids")
        scale = np.maximum(np.abs(weights.words).max(axis=1, keepdims=True) / 127, _TINY)
        signed = self.graph.constant(np.round(weights.words / scale).astype(np.int8))
        rows = self.graph.op("Gather", signed, "input_ids")
        rows = self.graph.op("Cast", rows, to=TensorProto.FLOAT)
        scales = self.graph.op("Gather", self.graph.constant(scale.astype(np.float32)), "input_ids")
        return self.graph.op("Mul", rows, scales)

    def _rows(self, table: NDArray[np.float32], at: str) -> str:
        rows = self.graph.op("Gather", self.graph.constant(table.astype(np.float16)), at)
        return self.graph.op("Cast", rows, to=TensorProto.FLOAT)

    def _layer(self, asked: str, x: str, layer: Layer) -> str:
        """Write a layer for the tokens asked, which attend to all of x."""
        mixed = self._quantized(self._attention(asked, x, layer))
        y = self._norm(
            self.graph.op("Add", asked, self._linear(mixed, layer.out)), layer.attention_norm
        )
        wide = self._activate(self._linear(self._quantized(y), layer.up))
        narrow = self._linear(self._quantized(wide, zero=self._activated_zero()), layer.down)
        return self._norm(self.graph.op("Add", y, narrow), layer.norm)

    def _attention(self, asked: str, x: str, layer: Layer) -> str:
        graph, heads = self.graph, self._shape.heads
        size = self._shape.hidden // heads
        split = graph.integers(0, 0, heads, size)
        read = self._quantized(x)
        asking = read if asked == x else self._quantized(asked)
        query, key, value = (
            graph.op("Reshape", self._linear(source, part), split)
            for source, part in ((asking, layer.query), (read, layer.key), (read, layer.value))
        )
        query = graph.op("Transpose", query, perm=[0, 2, 1, 3])
        key = graph.op("Transpose", key, perm=[0, 2, 3, 1])
        value = graph.op("Transpose", value, perm=[0, 2, 1, 3])
        scale = graph.constant(np.float32(1 / math.sqrt(size)))
        scores = graph.op("Mul", graph.op("MatMul", query, key), scale)
        mixed = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), value)
        mixed = graph.op("Transpose", mixed, perm=[0, 2, 1, 3])
        return graph.op("Reshape", mixed, graph.integers(0, 0, self._shape.hidden))

    def _quantized(self, x: str, *, zero: int = _MIDDLE) -> str | _Bytes:
        """Write x as bytes, row by row; in single precision x stays as it is.

        `zero` is the byte of 0: the middle, but for what an activation bounds below.
        """
        if self._precision == "fp32":
            return x
        graph, last = self.graph, self.graph.integers(-1)
        size = graph.op("Abs", x) if zero == _MIDDLE else x
        top = graph.op("ReduceMax", size, last, keepdims=1)
        step = graph.op("Div", top, graph.constant(np.float32(255 - zero)))
        # What is below zero has bytes enough: GELU is nowhere below _LEAST_GELU.
        least = _LEAST_GELU / zero if 0 < zero < _MIDDLE else _TINY
        scale = graph.op("Max", step, graph.constant(np.float32(least)))
        byte = graph.constant(np.uint8(zero))
        one = graph.constant(np.float32(1))
        return _Bytes(graph.op("QuantizeLinear", graph.op("Div", x, scale), one, byte), scale, byte)

    def _activated_zero(self) -> int:
        return 0 if self._shape.activation == "relu" else _GELU_ZERO

    def _linear(self, x: str | _Bytes, part: Linear) -> str:
        if isinstance(x, str):
            return self._single(x, part)
        graph = self.graph
        scale = np.maximum(np.abs(part.weight).max(axis=0) / 127, _TINY)
        signed = graph.constant(np.round(part.weight / scale).astype(np.int8))
        scales = (graph.constant(np.float32(1)), graph.constant(scale.astype(np.float32)))
        product = graph.op(
            "MatMulIntegerToFloat", x.values, signed, *scales, x.zero, domain=_RUNTIME
        )
        # A Sum, for ONNX Runtime makes of Add and Gelu one that takes twice the time of both.
        return graph.op("Sum", graph.op("Mul", product, x.scale), graph.constant(part.bias))

    def _single(self, x: str, part: Linear) -> str:
        weight = self.graph.constant(part.weight.astype(np.float16))
        weight = self.graph.op("Cast", weight, to=TensorProto.FLOAT)
        return self.graph.op(
            "Add", self.graph.op("MatMul", x, weight), self.graph.constant(part.bias)
        )

    def _norm(self, x: str, part: Norm) -> str:
        scale, shift = self.graph.constant(part.scale), self.graph.constant(part.shift)
        return self.graph.op(
            "LayerNormalization", x, scale, shift, axis=-1, epsilon=self._shape.epsilon
        )

    def _activate(self, x: str) -> str:
        if self._shape.activation == "relu":
            return self.graph.op("Relu", x)
        exact = self._shape.activation == "gelu"
        return self.graph.op("Gelu", x, approximate="none" if exact else "tanh")


def _pool(graph: _GraphWriter, x: str, pooling: Pooling) -> str:
    """Write the pooling of a (n, length, d) tensor; returns the (n, 1, d) one.

    A sum is written as a product of matrices: ONNX Runtime orders the additions of `ReduceMean`
    by the number of texts, so that a vector's last bit would depend on its batch.
    """
    if pooling == "max":
        kind = "ReduceMax"
        if graph.opset < _AXES_ARE_INPUTS:
            return graph.op(kind, x, axes=[1], keepdims=1)
        return graph.op(kind, x, graph.integers(1), keepdims=1)
    if pooling != "mean":
        return graph.op("Gather", x, graph.integers(0 if pooling == "cls" else -1), axis=1)
    length = graph.op("Gather", graph.op("Shape", x), graph.integers(1))
    row = graph.op("Concat", graph.integers(1), length, axis=0)
    one = helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])
    total = graph.op("MatMul", graph.op("ConstantOfShape", row, value=one), x)
    return graph.op("Div", total, graph.op("Cast", length, to=TensorProto.FLOAT))


def _unit(graph: _GraphWriter, x: str) -> None:
    """Write the unit rows of a (n, 1, d) tensor as the (n, d) output."""
    square = graph.op("MatMul", x, graph.op("Transpose", x, perm=[0, 2, 1]))
    unit = graph.op("Div", x, graph.op("Sqrt", square))
    size = graph.op("Gather", graph.op("Shape", x), graph.integers(0, 2))
    graph.op("Reshape", unit, size, output=VECTORS)
