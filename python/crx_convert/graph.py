"""A BERT-family encoder as one ONNX graph that includes pooling and normalization.

All texts of a batch have the same length, so the graph has no padding and no attention mask. With
`precision="fp32"`, weights are stored in half precision and cast when the graph is loaded,
arithmetic is in single precision, and all operators are standard ONNX but those of rotary positions
(`rotary`).

With `precision="int8"`, large weights are int8 with a scale per column, and activations are
quantized dynamically with a scale per token. This is more accurate than a scale per tensor
(`DynamicQuantizeMatMul`), where an outlier in one token coarsens all others, and a text's output
does not depend on the rest of its batch. An int8 graph uses operators of ONNX Runtime (`layers`).

The last layer is computed for the first token only if nothing reads another, as in most rerankers:
the other tokens serve as keys and values.

The inputs are `input_ids` (n, length) int64 and, for rerankers that use segment ids,
`token_type_ids` of the same shape and dtype. The output is `vectors` (n, d) float32 unit rows, or
`logits` (n,) float32.
"""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from crx._models.card import Pooling, Precision
from crx._models.source_folder import Architecture
from crx_convert.graph_writer import RUNTIME_DOMAIN, GraphWriter
from crx_convert.layers import (
    Fp32LayerWriter,
    Int8LayerWriter,
    LayerWriter,
    write_activation,
    write_linear,
    write_norm,
)
from crx_convert.weights import BLOCK_SIZE, ZERO_POINT, EncoderWeights, Q4Matrix

OPSET = 20
VECTORS = "vectors"
LOGITS = "logits"
# From this opset on, the axes of a reduction are an input, not an attribute.
_AXES_INPUT_OPSET = 18
# The smallest scale, for rows of zeros.
_TINY = np.finfo(np.float32).tiny


def write_graph(
    weights: EncoderWeights,
    shape: Architecture,
    *,
    pooling: Pooling,
    precision: Precision,
    is_compared: NDArray[np.bool_] | None = None,
) -> onnx.ModelProto:
    """Return the graph of a model: a cross-encoder if the weights have a classification head.

    `is_compared` tells of each token of the vocabulary whether late interaction compares it in a
    text.
    """
    writer = _EncoderWriter(shape, precision)
    x = writer.write_encoder(weights, first_only=_reads_first_token(weights, shape, pooling))
    graph = writer.graph
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "length"])]
    if weights.head is not None:
        graph.op("Reshape", writer.write_head(x, weights), graph.int64s(-1), output=LOGITS)
        if reads_segment_ids(weights):
            inputs.append(
                helper.make_tensor_value_info("token_type_ids", TensorProto.INT64, ["n", "length"])
            )
        output = helper.make_tensor_value_info(LOGITS, TensorProto.FLOAT, ["n"])
    elif is_compared is not None:
        return _token_graph(graph, writer.write_projections(x, weights), inputs, is_compared)
    else:
        pooled = writer.write_projections(_write_pooling(graph, x, pooling), weights)
        write_unit_vectors(graph, pooled)
        size = weights.dense[-1].linear.weight.shape[1] if weights.dense else shape.hidden
        output = helper.make_tensor_value_info(VECTORS, TensorProto.FLOAT, ["n", size])
    return make_model(graph, inputs, [output])


def _token_graph(
    graph: GraphWriter,
    x: str,
    inputs: list[onnx.ValueInfoProto],
    is_compared: NDArray[np.bool_],
) -> onnx.ModelProto:
    """Return the graph of late interaction: unit vectors of tokens, and which are compared."""
    graph.op("LpNormalization", x, axis=-1, p=2, output=VECTORS)
    graph.op("Gather", graph.constant(is_compared), "input_ids", output="is_compared")
    shape = ["n", "length"]
    outputs = [
        helper.make_tensor_value_info(VECTORS, TensorProto.FLOAT, [*shape, "d"]),
        helper.make_tensor_value_info("is_compared", TensorProto.BOOL, shape),
    ]
    return make_model(graph, inputs, outputs)


def make_model(
    graph: GraphWriter,
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
) -> onnx.ModelProto:
    """Return the model of a graph with its inputs and outputs."""
    body = helper.make_graph(graph.nodes, "crx", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME_DOMAIN, 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=9, producer_name="crx")


def reads_segment_ids(weights: EncoderWeights) -> bool:
    """Return whether a model is a reranker that uses segment ids."""
    return weights.head is not None and weights.segments > 1


def _reads_first_token(weights: EncoderWeights, shape: Architecture, pooling: Pooling) -> bool:
    """Return whether the model's output is computed from the first token of the last layer."""
    if weights.head is not None:
        return weights.head.pooling == "cls"
    return shape.rotary is not None and pooling == "cls"


def append_pooling(
    model: onnx.ModelProto, *, output: str, dimensions: int, pooling: Pooling
) -> onnx.ModelProto:
    """Append pooling and normalization to a graph with an (n, length, d) or (n, d) output.

    With `pooling="graph"` the output is already pooled. Returns the modified model.
    """
    opsets = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    graph = GraphWriter(max(opsets), name_prefix="crx_pooling")
    if pooling == "graph":
        sizes = graph.int64s(-1, 1, dimensions)
        pooled = graph.op("Reshape", output, sizes)
    else:
        pooled = _write_pooling(graph, output, pooling)
    write_unit_vectors(graph, pooled)
    model.graph.node.extend(graph.nodes)
    model.graph.initializer.extend(graph.constants)
    del model.graph.output[:]
    model.graph.output.append(
        helper.make_tensor_value_info(VECTORS, TensorProto.FLOAT, ["n", dimensions])
    )
    return model


class _EncoderWriter:
    """Writes the graph of an encoder of one architecture and precision."""

    def __init__(self, shape: Architecture, precision: Precision) -> None:
        self.graph = GraphWriter(OPSET, name_prefix="crx")
        self._shape = shape
        self._precision = precision

    def write_encoder(self, weights: EncoderWeights, *, first_only: bool) -> str:
        """Write the embeddings and all layers; return the output.

        The output is (n, length, hidden), or (n, 1, hidden) with `first_only`.
        """
        embeddings = self._write_embeddings(weights)
        x = write_norm(self.graph, embeddings, weights.norm, epsilon=self._shape.epsilon)
        writer: LayerWriter = (
            Fp32LayerWriter(self.graph, self._shape)
            if self._precision == "fp32"
            else Int8LayerWriter(self.graph, self._shape)
        )
        *lower, last = weights.layers
        for layer in lower:
            x = writer.write_layer(x, x, layer)
        queries = x
        if first_only:
            queries = self.graph.op("Gather", x, self.graph.int64s(0), axis=1)
        x = writer.write_layer(queries, x, last)
        if weights.final_norm is None:
            return x
        return write_norm(self.graph, x, weights.final_norm, epsilon=self._shape.epsilon)

    def write_projections(self, x: str, weights: EncoderWeights) -> str:
        """Write the dense projections of a pooled vector."""
        for dense in weights.dense:
            x = write_linear(self.graph, x, dense.linear)
            x = write_activation(self.graph, x, dense.activation)
        return x

    def write_head(self, x: str, weights: EncoderWeights) -> str:
        """Write the classification head: (n, length or 1, hidden) tokens to (n, 1, 1) logits."""
        head = weights.head
        if head is None:
            raise ValueError("the model has no classification head")
        pooled = _write_pooling(self.graph, x, "mean") if head.pooling == "mean" else x
        hidden = write_linear(self.graph, pooled, head.dense)
        hidden = write_activation(self.graph, hidden, head.activation)
        if head.norm is not None:
            hidden = write_norm(self.graph, hidden, head.norm, epsilon=self._shape.epsilon)
        return write_linear(self.graph, hidden, head.out)

    def _write_embeddings(self, weights: EncoderWeights) -> str:
        # Only the rows that are looked up are cast: casting the whole table takes a third of the
        # loading time.
        graph = self.graph
        positions = weights.position_embeddings
        if positions is None or weights.segment_embeddings is None:
            return self._write_word_embeddings(weights)
        one, length = graph.int64s(1), graph.op("Shape", "input_ids", start=1, end=2)
        words = self._write_word_embeddings(weights)
        if not reads_segment_ids(weights):
            positions = positions + weights.segment_embeddings[0]
        else:
            segments = self._write_rows(weights.segment_embeddings, "token_type_ids")
            words = graph.op("Add", words, segments)
        table = graph.constant(positions.astype(np.float16))
        zero = graph.int64s(0)
        rows = graph.op("Slice", table, zero, length, zero, one)
        return graph.op("Add", words, graph.op("Cast", rows, to=TensorProto.FLOAT))

    def _write_word_embeddings(self, weights: EncoderWeights) -> str:
        """Write the look-up of word embeddings.

        For an int8 reranker the table is int8 with a scale per row, which halves its size. For an
        embedder it stays in half precision, or in the 4-bit blocks of its source, because indexes
        store the vectors, which must not change.
        """
        if isinstance(weights.word_embeddings, Q4Matrix):
            return self._write_q4_rows(weights.word_embeddings, "input_ids")
        if self._precision == "fp32" or weights.head is None:
            return self._write_rows(weights.word_embeddings, "input_ids")
        scale = np.maximum(np.abs(weights.word_embeddings).max(axis=1, keepdims=True) / 127, _TINY)
        signed = self.graph.constant(np.round(weights.word_embeddings / scale).astype(np.int8))
        rows = self.graph.op("Gather", signed, "input_ids")
        rows = self.graph.op("Cast", rows, to=TensorProto.FLOAT)
        scales = self.graph.op("Gather", self.graph.constant(scale.astype(np.float32)), "input_ids")
        return self.graph.op("Mul", rows, scales)

    def _write_rows(self, table: NDArray[np.float32], row_ids: str) -> str:
        rows = self.graph.op("Gather", self.graph.constant(table.astype(np.float16)), row_ids)
        return self.graph.op("Cast", rows, to=TensorProto.FLOAT)

    def _write_q4_rows(self, table: Q4Matrix, row_ids: str) -> str:
        """Write the look-up and dequantization of rows of 4-bit codes.

        A byte holds two codes: low bits for the first half of a row, high bits for the second.
        """
        graph = self.graph
        columns = table.codes.shape[1]
        low, high = np.split(table.codes, 2, axis=1)
        pairs = graph.op("Gather", graph.constant(low | (high << 4)), row_ids)
        low_codes = graph.op("BitwiseAnd", pairs, graph.constant(np.uint8(15)))
        low_codes = graph.op("Cast", low_codes, to=TensorProto.FLOAT)
        # Subtraction and multiplication, because OpenVINO rounds the result of BitShift.
        high_codes = graph.op("Sub", graph.op("Cast", pairs, to=TensorProto.FLOAT), low_codes)
        high_codes = graph.op("Mul", high_codes, graph.constant(np.float32(1 / 16)))
        codes = graph.op("Concat", low_codes, high_codes, axis=-1)
        values = graph.op("Sub", codes, graph.constant(np.float32(ZERO_POINT)))
        blocks = graph.op("Reshape", values, graph.int64s(0, 0, columns // BLOCK_SIZE, BLOCK_SIZE))
        scales = graph.op("Gather", graph.constant(table.scales), row_ids)
        scales = graph.op("Cast", scales, to=TensorProto.FLOAT)
        product = graph.op("Mul", blocks, graph.op("Unsqueeze", scales, graph.int64s(-1)))
        return graph.op("Reshape", product, graph.int64s(0, 0, columns))


def _write_pooling(graph: GraphWriter, x: str, pooling: Pooling) -> str:
    """Write the pooling of an (n, length, d) tensor; return the (n, 1, d) result."""
    if pooling == "max":
        kind = "ReduceMax"
        if graph.opset < _AXES_INPUT_OPSET:
            return graph.op(kind, x, axes=[1], keepdims=1)
        return graph.op(kind, x, graph.int64s(1), keepdims=1)
    if pooling != "mean":
        return graph.op("Gather", x, graph.int64s(0 if pooling == "cls" else -1), axis=1)
    total, length = write_sum(graph, x)
    return graph.op("Div", total, graph.op("Cast", length, to=TensorProto.FLOAT))


def write_sum(graph: GraphWriter, x: str) -> tuple[str, str]:
    """Write the sum of an (n, length, d) tensor; return the (n, 1, d) result and the length.

    It is a matrix product. ONNX Runtime orders the additions of `ReduceSum` by the number of texts,
    so the last bit of a vector would depend on its batch.
    """
    length = graph.op("Gather", graph.op("Shape", x), graph.int64s(1))
    row = graph.op("Concat", graph.int64s(1), length, axis=0)
    one = helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])
    return graph.op("MatMul", graph.op("ConstantOfShape", row, value=one), x), length


def write_unit_vectors(graph: GraphWriter, x: str, *, least_norm: float = 0) -> None:
    """Write the normalization of an (n, 1, d) tensor to the (n, d) output of unit vectors.

    With a positive `least_norm`, a vector of zeros stays one.
    """
    square = graph.op("MatMul", x, graph.op("Transpose", x, perm=[0, 2, 1]))
    norm = graph.op("Sqrt", square)
    if least_norm:
        norm = graph.op("Max", norm, graph.constant(np.float32(least_norm)))
    unit = graph.op("Div", x, norm)
    size = graph.op("Gather", graph.op("Shape", x), graph.int64s(0, 2))
    graph.op("Reshape", unit, size, output=VECTORS)
