"""An encoder's layers in an ONNX graph: in single precision, and with bytes for all products.

In single precision a layer is standard ONNX, its weights stored in half precision.

In bytes, large weights are signed with a scale a column, and activations unsigned with a scale a
token. There the operators of ONNX Runtime count: a load takes as long as the graph has nodes, so a
layer's three projections are one product and its attention is one node.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from onnx import TensorProto

from crx.models.convert.graph_writer import RUNTIME, GraphWriter
from crx.models.convert.weights import Array, Layer, Linear, Norm
from crx.models.source_folder import Architecture

# The byte that stands for 0 in a row of either sign.
_MIDDLE = 128
# GELU's least value is -0.17004 (exact) or -0.17003 (by tanh); so many bytes are kept for it.
_LEAST_GELU = 0.1701
_GELU_ZERO = 32
# Rows and columns of nothing but zeros have a scale too.
_TINY = float(np.finfo(np.float32).tiny)


class LayerWriter(Protocol):
    """Writes the layers of one encoder."""

    def layer(self, asked: str, x: str, layer: Layer) -> str:
        """Write a layer for the tokens asked, which attend to all of x; returns its output."""
        ...


def write_linear(graph: GraphWriter, x: str, part: Linear) -> str:
    """Write a product in single precision, its weight stored in half precision."""
    weight = graph.constant(part.weight.astype(np.float16))
    weight = graph.op("Cast", weight, to=TensorProto.FLOAT)
    return graph.op("Add", graph.op("MatMul", x, weight), graph.constant(part.bias))


def write_norm(graph: GraphWriter, x: str, part: Norm, *, epsilon: float) -> str:
    """Write a layer normalization."""
    scale, shift = graph.constant(part.scale), graph.constant(part.shift)
    return graph.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)


def write_activation(graph: GraphWriter, x: str, shape: Architecture) -> str:
    """Write the activation between the halves of the feed-forward."""
    if shape.activation == "relu":
        return graph.op("Relu", x)
    exact = shape.activation == "gelu"
    return graph.op("Gelu", x, approximate="none" if exact else "tanh")


class SingleLayers:
    """Layers in single precision."""

    def __init__(self, graph: GraphWriter, shape: Architecture) -> None:
        self._graph = graph
        self._shape = shape

    def layer(self, asked: str, x: str, layer: Layer) -> str:
        graph, epsilon = self._graph, self._shape.epsilon
        mixed = self._attention(asked, x, layer)
        added = graph.op("Add", asked, write_linear(graph, mixed, layer.out))
        y = write_norm(graph, added, layer.attention_norm, epsilon=epsilon)
        wide = write_activation(graph, write_linear(graph, y, layer.up), self._shape)
        added = graph.op("Add", y, write_linear(graph, wide, layer.down))
        return write_norm(graph, added, layer.norm, epsilon=epsilon)

    def _attention(self, asked: str, x: str, layer: Layer) -> str:
        graph, heads = self._graph, self._shape.heads
        size = self._shape.hidden // heads
        split = graph.integers(0, 0, heads, size)
        query, key, value = (
            graph.op("Reshape", write_linear(graph, source, part), split)
            for source, part in ((asked, layer.query), (x, layer.key), (x, layer.value))
        )
        query = graph.op("Transpose", query, perm=[0, 2, 1, 3])
        key = graph.op("Transpose", key, perm=[0, 2, 3, 1])
        value = graph.op("Transpose", value, perm=[0, 2, 1, 3])
        scale = graph.constant(np.float32(1 / math.sqrt(size)))
        scores = graph.op("Mul", graph.op("MatMul", query, key), scale)
        mixed = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), value)
        mixed = graph.op("Transpose", mixed, perm=[0, 2, 1, 3])
        return graph.op("Reshape", mixed, graph.integers(0, 0, self._shape.hidden))


@dataclass(frozen=True, slots=True)
class _ByteRows:
    """A tensor as bytes: `(values - zero) / (255 - zero) * bound`, a bound a row.

    All but `zero` are names of tensors.
    """

    values: str
    bound: str
    zero: int


class ByteLayers:
    """Layers whose large products are of bytes."""

    def __init__(self, graph: GraphWriter, shape: Architecture) -> None:
        self._graph = graph
        self._shape = shape
        self._last = graph.integers(-1)

    def layer(self, asked: str, x: str, layer: Layer) -> str:
        graph, epsilon = self._graph, self._shape.epsilon
        mixed = self._attention(asked, x, layer)
        out = self._product(self._bytes(mixed), layer.out.weight)
        added = graph.op("Sum", asked, out, graph.constant(layer.out.bias))
        y = write_norm(graph, added, layer.attention_norm, epsilon=epsilon)
        # A Sum, for ONNX Runtime makes of Add and Gelu one that takes twice the time of both.
        up = self._product(self._bytes(y), layer.up.weight)
        up = graph.op("Sum", up, graph.constant(layer.up.bias))
        wide = self._bytes(
            write_activation(graph, up, self._shape),
            zero=0 if self._shape.activation == "relu" else _GELU_ZERO,
        )
        down = self._product(wide, layer.down.weight)
        added = graph.op("Sum", y, down, graph.constant(layer.down.bias))
        return write_norm(graph, added, layer.norm, epsilon=epsilon)

    def _attention(self, asked: str, x: str, layer: Layer) -> str:
        parts = (layer.query, layer.key, layer.value)
        read = self._bytes(x)
        if asked == x:
            inputs = self._graph.split(self._product(read, _side_by_side(parts)), 3)
        else:
            query = self._product(self._bytes(asked), layer.query.weight)
            both = self._product(read, _side_by_side(parts[1:]))
            inputs = [query, *self._graph.split(both, 2)]
        bias = self._graph.constant(np.concatenate([part.bias for part in parts]))
        heads = self._shape.heads
        return self._graph.op("MultiHeadAttention", *inputs, bias, domain=RUNTIME, num_heads=heads)

    def _bytes(self, x: str, *, zero: int = _MIDDLE) -> _ByteRows:
        """Write x as bytes; `zero` is the byte of 0: the middle, but for what is bounded below."""
        graph = self._graph
        size = graph.op("Abs", x) if zero == _MIDDLE else x
        top = graph.op("ReduceMax", size, self._last, keepdims=1)
        # What is below zero has bytes enough: GELU is nowhere below _LEAST_GELU.
        least = _LEAST_GELU / zero * (255 - zero) if 0 < zero < _MIDDLE else _TINY
        bound = graph.op("Max", top, graph.shared(np.float32(least)))
        step = graph.shared(np.float32(1 / (255 - zero)))
        share = graph.op("Div", x, bound)
        values = graph.op("QuantizeLinear", share, step, graph.shared(np.uint8(zero)))
        return _ByteRows(values, bound, zero)

    def _product(self, x: _ByteRows, weight: Array) -> str:
        graph = self._graph
        scale = np.maximum(np.abs(weight).max(axis=0) / 127, _TINY)
        signed = graph.constant(np.round(weight / scale).astype(np.int8))
        product = graph.op(
            "MatMulIntegerToFloat",
            x.values,
            signed,
            graph.shared(np.float32(1 / (255 - x.zero))),
            graph.constant(scale.astype(np.float32)),
            graph.shared(np.uint8(x.zero)),
            domain=RUNTIME,
        )
        return graph.op("Mul", product, x.bound)


def _side_by_side(parts: Sequence[Linear]) -> Array:
    return np.concatenate([part.weight for part in parts], axis=1)
