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
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from crx._models.source_folder import Activation, Architecture
from crx_convert.graph_writer import RUNTIME_DOMAIN, GraphWriter
from crx_convert.rotary import RotaryWriter
from crx_convert.weights import Array, DenseActivation, Layer, LayerNorm, Linear

# The zero point of activations that can be negative as well as positive.
_SYMMETRIC_ZERO_POINT = 128
# The minimum of GELU is -0.17004 (exact) or -0.17003 (tanh approximation). Codes below the zero
# point of GELU outputs represent values down to this bound.
_GELU_MINIMUM = 0.1701
_GELU_ZERO_POINT = 32
_ZERO_POINTS = {"relu": 0, "gelu": _GELU_ZERO_POINT, "gelu_tanh": _GELU_ZERO_POINT}
# The smallest scale, for rows and columns of zeros.
_TINY = float(np.finfo(np.float32).tiny)
# Without VNNI, the kernels add two products of a uint8 activation and an int8 weight in 16 bits
# (`vpmaddubsw`), which saturates from 32,768 on. Two weights of one sign that add up to 128 at most
# never do: 255 x 128 = 32,640. The bound is one less, because rounding may add 1/2 to each.
_MAX_PAIR = 127.0
# Columns of the output of a gated network that share a scale, at most. On random weights of 1,536
# columns, twelve groups instead of four take a sixth off the error of a vector.
_GROUP_COLUMNS = 128
# Rows that a kernel reads at once; which of them it adds in pairs is its own matter.
_GROUP = 4


def write_linear(graph: GraphWriter, x: str, part: Linear) -> str:
    """Write a linear layer in single precision, with its weight stored in half precision."""
    weight = graph.constant(part.weight.astype(np.float16))
    weight = graph.op("Cast", weight, to=TensorProto.FLOAT)
    product = graph.op("MatMul", x, weight)
    return product if part.bias is None else graph.op("Add", product, graph.constant(part.bias))


def write_norm(graph: GraphWriter, x: str, part: LayerNorm, *, epsilon: float) -> str:
    """Write a layer normalization."""
    scale, shift = graph.constant(part.scale), graph.constant(part.shift)
    return graph.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)


def write_activation(graph: GraphWriter, x: str, activation: Activation | DenseActivation) -> str:
    """Write an activation."""
    if activation == "identity":
        return x
    if activation in ("relu", "tanh"):
        return graph.op(activation.capitalize(), x)
    if activation == "silu":
        return graph.op("Mul", x, graph.op("Sigmoid", x))
    return graph.op("Gelu", x, approximate="none" if activation == "gelu" else "tanh")


class LayerWriter(ABC):
    """Writes the layers of an encoder, in the order in which they are called."""

    def __init__(self, graph: GraphWriter, shape: Architecture) -> None:
        self._graph = graph
        self._shape = shape
        self._rotary = shape.rotary and RotaryWriter(graph, shape.rotary, shape)
        self._layers = 0

    def write_layer(self, queries: str, x: str, layer: Layer) -> str:
        """Write a layer whose queries are the tokens `queries`, and whose keys and values are `x`.

        `queries` is `x`, or its first token. Returns the output, which has the shape of `queries`.
        """
        if self._rotary:
            output = self._write_norm_first(queries, x, layer)
        else:
            y = self._norm(self._attend(queries, x, layer, queries), layer.attention_norm)
            output = self._norm(self._feed_forward(y, layer, y), layer.norm)
        self._layers += 1
        return output

    def _write_norm_first(self, queries: str, x: str, layer: Layer) -> str:
        normed = self._norm(x, layer.attention_norm)
        normed_queries = normed if queries == x else self._norm(queries, layer.attention_norm)
        y = self._attend(normed_queries, normed, layer, queries)
        return self._feed_forward(self._norm(y, layer.norm), layer, y)

    def _norm(self, x: str, part: LayerNorm | None) -> str:
        return x if part is None else write_norm(self._graph, x, part, epsilon=self._shape.epsilon)

    @abstractmethod
    def _attend(self, queries: str, x: str, layer: Layer, residual: str) -> str:
        """Write the attention of queries to all tokens, and add the residual."""

    @abstractmethod
    def _feed_forward(self, x: str, layer: Layer, residual: str) -> str:
        """Write the feed-forward network, and add the residual."""


class Fp32LayerWriter(LayerWriter):
    """Writes layers in single precision."""

    def _attend(self, queries: str, x: str, layer: Layer, residual: str) -> str:
        context = self._write_attention(queries, x, layer)
        return self._graph.op("Add", residual, write_linear(self._graph, context, layer.out))

    def _feed_forward(self, x: str, layer: Layer, residual: str) -> str:
        graph = self._graph
        inner = write_linear(graph, x, layer.up)
        inner = write_activation(graph, inner, self._shape.activation)
        if layer.gate is not None:
            inner = graph.op("Mul", inner, write_linear(graph, x, layer.gate))
        return graph.op("Add", residual, write_linear(graph, inner, layer.down))

    def _write_attention(self, queries: str, x: str, layer: Layer) -> str:
        graph, heads = self._graph, self._shape.heads
        sources = ((queries, layer.query), (x, layer.key), (x, layer.value))
        if self._rotary:
            inputs = [write_linear(graph, source, part) for source, part in sources]
            return self._rotary.write_attention(self._layers, *inputs, is_all=queries == x)
        size = self._shape.hidden // heads
        split = graph.int64s(0, 0, heads, size)
        query, key, value = (
            graph.op("Reshape", write_linear(graph, source, part), split)
            for source, part in sources
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


class Int8LayerWriter(LayerWriter):
    """Writes layers whose large matrix products are in int8."""

    def __init__(self, graph: GraphWriter, shape: Architecture) -> None:
        super().__init__(graph, shape)
        self._last = graph.int64s(-1)

    def _attend(self, queries: str, x: str, layer: Layer, residual: str) -> str:
        context = self._write_attention(queries, x, layer)
        if self._rotary:
            # The residual is not normalized, so errors add up over the layers. This product is the
            # smallest of a layer, and an eighth of the error.
            return self._sum(residual, write_linear(self._graph, context, layer.out), bias=None)
        out = self._multiply(self._quantize(context), layer.out.weight)
        return self._sum(residual, out, bias=layer.out.bias)

    def _feed_forward(self, x: str, layer: Layer, residual: str) -> str:
        graph, shape = self._graph, self._shape
        parts = [layer.up] if layer.gate is None else [layer.up, layer.gate]
        up = self._multiply(self._quantize(x), _concatenate_weights(parts))
        # Sum, not Add: ONNX Runtime fuses Add and Gelu into an operator that takes twice as long.
        up = self._sum(up, bias=_concatenate_biases(parts))
        if layer.gate is None:
            inner = write_activation(graph, up, shape.activation)
            zero_point = _ZERO_POINTS.get(shape.activation, _SYMMETRIC_ZERO_POINT)
            down = self._multiply(self._quantize(inner, zero_point=zero_point), layer.down.weight)
            return self._sum(residual, down, bias=layer.down.bias)
        left, gate = graph.split(up, 2)
        inner = graph.op("Mul", write_activation(graph, left, shape.activation), gate)
        # A product of two has few large values, so each group of columns has a scale of its own.
        count = _group_count(shape.intermediate)
        groups = graph.op("Reshape", inner, graph.int64s(0, 0, count, shape.intermediate // count))
        quantized = self._quantize(groups)
        values, bounds = (
            graph.split(graph.op("Reshape", each, graph.int64s(0, 0, -1)), count)
            for each in (quantized.values, quantized.bound)
        )
        weights = np.split(layer.down.weight, count)
        products = [
            self._multiply(_QuantizedRows(value, bound, quantized.zero_point), weight)
            for value, bound, weight in zip(values, bounds, weights, strict=True)
        ]
        return self._sum(residual, *products, bias=layer.down.bias)

    def _sum(self, *terms: str, bias: Array | None) -> str:
        if bias is not None:
            terms = (*terms, self._graph.constant(bias))
        return self._graph.op("Sum", *terms) if len(terms) > 1 else terms[0]

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
        if self._rotary:
            biased = [
                self._sum(each, bias=part.bias) for each, part in zip(inputs, parts, strict=True)
            ]
            return self._rotary.write_attention(self._layers, *biased, is_all=queries == x)
        bias = _concatenate_biases(parts)
        inputs = inputs if bias is None else [*inputs, self._graph.constant(bias)]
        return self._graph.op(
            "MultiHeadAttention", *inputs, domain=RUNTIME_DOMAIN, num_heads=self._shape.heads
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


def _group_count(columns: int) -> int:
    """Return the fewest equal groups of at most `_GROUP_COLUMNS`, or 1 if there are none."""
    counts = range(-(-columns // _GROUP_COLUMNS), columns // (_GROUP_COLUMNS // 2) + 1)
    return next((count for count in counts if columns % count == 0), 1)


def _concatenate_weights(parts: Sequence[Linear]) -> Array:
    return np.concatenate([part.weight for part in parts], axis=1)


def _concatenate_biases(parts: Sequence[Linear]) -> Array | None:
    """Return the biases of layers of which all have one, or None."""
    found = [part.bias for part in parts if part.bias is not None]
    return np.concatenate(found) if found else None
