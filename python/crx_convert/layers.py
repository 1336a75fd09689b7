"""Encoder layers of an ONNX graph, in single precision and in int8.

In single precision, a layer consists of standard ONNX operators, with weights stored in half
precision.

In int8, large weights are int8 with a scale per column, and activations are uint8 with a scale per
token. These graphs use operators of ONNX Runtime, because loading time grows with the number of
nodes: a layer's three projections are one matrix product and its attention is one node. Weights are
limited so that the products are exact on every processor (`quantize_weight`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from crx.models.source_folder import Architecture
from crx_convert.graph_writer import RUNTIME_DOMAIN, GraphWriter
from crx_convert.weights import Array, Layer, LayerNorm, Linear

# The zero point of activations that can be negative as well as positive.
_SYMMETRIC_ZERO_POINT = 128
# The minimum of GELU is -0.17004 (exact) or -0.17003 (tanh approximation). Codes below the zero
# point of GELU outputs represent values down to this bound.
_GELU_MINIMUM = 0.1701
_GELU_ZERO_POINT = 32
# The smallest scale, for rows and columns of zeros.
_TINY = float(np.finfo(np.float32).tiny)
# Without VNNI, the kernels add two products of a uint8 activation and an int8 weight in 16 bits
# (`vpmaddubsw`), which saturates from 32,768 on. Two weights of one sign that add up to 128 at most
# never do: 255 x 128 = 32,640. The bound is one less, because rounding may add 1/2 to each.
_MAX_PAIR = 127.0
# Rows that a kernel reads at once; which of them it adds in pairs is its own matter.
_GROUP = 4


class LayerWriter(Protocol):
    """Writes the layers of an encoder."""

    def write_layer(self, queries: str, x: str, layer: Layer) -> str:
        """Write a layer whose queries are the tokens `queries`, and whose keys and values are `x`.

        Returns the output, which has the shape of `queries`.
        """
        ...


def write_linear(graph: GraphWriter, x: str, part: Linear) -> str:
    """Write a linear layer in single precision, with its weight stored in half precision."""
    weight = graph.constant(part.weight.astype(np.float16))
    weight = graph.op("Cast", weight, to=TensorProto.FLOAT)
    return graph.op("Add", graph.op("MatMul", x, weight), graph.constant(part.bias))


def write_norm(graph: GraphWriter, x: str, part: LayerNorm, *, epsilon: float) -> str:
    """Write a layer normalization."""
    scale, shift = graph.constant(part.scale), graph.constant(part.shift)
    return graph.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)


def write_activation(graph: GraphWriter, x: str, shape: Architecture) -> str:
    """Write the activation of the feed-forward network."""
    if shape.activation == "relu":
        return graph.op("Relu", x)
    exact = shape.activation == "gelu"
    return graph.op("Gelu", x, approximate="none" if exact else "tanh")


class Fp32LayerWriter:
    """Writes layers in single precision."""

    def __init__(self, graph: GraphWriter, shape: Architecture) -> None:
        self._graph = graph
        self._shape = shape

    def write_layer(self, queries: str, x: str, layer: Layer) -> str:
        graph, epsilon = self._graph, self._shape.epsilon
        context = self._write_attention(queries, x, layer)
        added = graph.op("Add", queries, write_linear(graph, context, layer.out))
        y = write_norm(graph, added, layer.attention_norm, epsilon=epsilon)
        inner = write_activation(graph, write_linear(graph, y, layer.up), self._shape)
        added = graph.op("Add", y, write_linear(graph, inner, layer.down))
        return write_norm(graph, added, layer.norm, epsilon=epsilon)

    def _write_attention(self, queries: str, x: str, layer: Layer) -> str:
        graph, heads = self._graph, self._shape.heads
        size = self._shape.hidden // heads
        split = graph.int64s(0, 0, heads, size)
        query, key, value = (
            graph.op("Reshape", write_linear(graph, source, part), split)
            for source, part in ((queries, layer.query), (x, layer.key), (x, layer.value))
        )
        query = graph.op("Transpose", query, perm=[0, 2, 1, 3])
        key = graph.op("Transpose", key, perm=[0, 2, 3, 1])
        value = graph.op("Transpose", value, perm=[0, 2, 1, 3])
        scale = graph.constant(np.float32(1 / math.sqrt(size)))
        scores = graph.op("Mul", graph.op("MatMul", query, key), scale)
        context = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), value)
        context = graph.op("Transpose", context, perm=[0, 2, 1, 3])
        return graph.op("Reshape", context, graph.int64s(0, 0, self._shape.hidden))


@dataclass(frozen=True, slots=True)
class _QuantizedRows:
    """A uint8 tensor: `(values - zero_point) / (255 - zero_point) * bound`, a bound per row.

    `values` and `bound` are names of tensors.
    """

    values: str
    bound: str
    zero_point: int


class Int8LayerWriter:
    """Writes layers whose large matrix products are in int8."""

    def __init__(self, graph: GraphWriter, shape: Architecture) -> None:
        self._graph = graph
        self._shape = shape
        self._last = graph.int64s(-1)

    def write_layer(self, queries: str, x: str, layer: Layer) -> str:
        graph, epsilon = self._graph, self._shape.epsilon
        context = self._write_attention(queries, x, layer)
        out = self._multiply(self._quantize(context), layer.out.weight)
        added = graph.op("Sum", queries, out, graph.constant(layer.out.bias))
        y = write_norm(graph, added, layer.attention_norm, epsilon=epsilon)
        # Sum, not Add: ONNX Runtime fuses Add and Gelu into an operator that takes twice as long.
        up = self._multiply(self._quantize(y), layer.up.weight)
        up = graph.op("Sum", up, graph.constant(layer.up.bias))
        inner = self._quantize(
            write_activation(graph, up, self._shape),
            zero_point=0 if self._shape.activation == "relu" else _GELU_ZERO_POINT,
        )
        down = self._multiply(inner, layer.down.weight)
        added = graph.op("Sum", y, down, graph.constant(layer.down.bias))
        return write_norm(graph, added, layer.norm, epsilon=epsilon)

    def _write_attention(self, queries: str, x: str, layer: Layer) -> str:
        parts = (layer.query, layer.key, layer.value)
        quantized = self._quantize(x)
        # The tensor names are equal in all layers but the last of a reranker.
        if queries == x:
            inputs = self._graph.split(self._multiply(quantized, _concatenate_weights(parts)), 3)
        else:
            query = self._multiply(self._quantize(queries), layer.query.weight)
            keys_and_values = self._multiply(quantized, _concatenate_weights(parts[1:]))
            inputs = [query, *self._graph.split(keys_and_values, 2)]
        bias = self._graph.constant(np.concatenate([part.bias for part in parts]))
        heads = self._shape.heads
        return self._graph.op(
            "MultiHeadAttention", *inputs, bias, domain=RUNTIME_DOMAIN, num_heads=heads
        )

    def _quantize(self, x: str, *, zero_point: int = _SYMMETRIC_ZERO_POINT) -> _QuantizedRows:
        """Write the quantization of x to uint8 with a scale per row.

        `zero_point` is the code of 0. It is lower than the default if the values have a lower
        bound near 0, as those of GELU and ReLU.
        """
        graph = self._graph
        magnitude = graph.op("Abs", x) if zero_point == _SYMMETRIC_ZERO_POINT else x
        top = graph.op("ReduceMax", magnitude, self._last, keepdims=1)
        minimum = _TINY
        if 0 < zero_point < _SYMMETRIC_ZERO_POINT:
            # The bound at which the codes below the zero point reach _GELU_MINIMUM.
            minimum = _GELU_MINIMUM / zero_point * (255 - zero_point)
        bound = graph.op("Max", top, graph.shared_constant(np.float32(minimum)))
        step = graph.shared_constant(np.float32(1 / (255 - zero_point)))
        scaled = graph.op("Div", x, bound)
        zero = graph.shared_constant(np.uint8(zero_point))
        values = graph.op("QuantizeLinear", scaled, step, zero)
        return _QuantizedRows(values, bound, zero_point)

    def _multiply(self, x: _QuantizedRows, weight: Array) -> str:
        """Write the product of quantized rows and an int8 weight; return it in single precision."""
        graph = self._graph
        codes, scale = quantize_weight(weight)
        product = graph.op(
            "MatMulIntegerToFloat",
            x.values,
            graph.constant(codes),
            graph.shared_constant(np.float32(1 / (255 - x.zero_point))),
            graph.constant(scale),
            graph.shared_constant(np.uint8(x.zero_point)),
            domain=RUNTIME_DOMAIN,
        )
        return graph.op("Mul", product, x.bound)


def quantize_weight(weight: Array) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return int8 codes of a (rows, columns) weight and a scale per column; `codes * scale` is it.

    A column's scale is the smallest at which no code exceeds 127, and no two codes of one sign
    within four consecutive rows, counted from the first row, add up to more than 128. The 16-bit
    sums of processors without VNNI can then not saturate, whichever two of the four rows they add,
    so that a graph gives the same output on every processor. In weights of trained models large
    values are seldom neighbours: this costs a third of a bit, where codes of seven bits, the usual
    remedy, cost a whole one.
    """
    rows, columns = weight.shape
    padded = np.zeros((-(-rows // _GROUP) * _GROUP, columns), weight.dtype)
    padded[:rows] = weight
    ordered = np.sort(padded.reshape(-1, _GROUP, columns), axis=1)
    positive = np.maximum(ordered[:, -2:], 0).sum(axis=1).max(axis=0)
    negative = np.minimum(ordered[:, :2], 0).sum(axis=1).min(axis=0)
    pair = np.maximum(positive, -negative)
    scale = np.maximum(np.abs(weight).max(axis=0) / 127, pair / _MAX_PAIR)
    scale = np.maximum(scale, _TINY).astype(np.float32)
    return np.round(weight / scale).astype(np.int8), scale


def _concatenate_weights(parts: Sequence[Linear]) -> Array:
    return np.concatenate([part.weight for part in parts], axis=1)
