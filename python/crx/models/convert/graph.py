"""A BERT-family encoder as one ONNX graph, pooling and normalization inside.

The graph is for texts of one length: there is no padding and so no mask. Weights are stored in half
precision and cast when the graph is loaded; arithmetic is in single precision, all of it standard
ONNX.
With `precision="int8"` the large weights are signed bytes with a scale a column, and activations
are quantized as they come, each token's row by a scale of its own. That is finer than a scale a
tensor (`DynamicQuantizeMatMul`), where one token's outlier coarsens all others, and what comes of
a text does not depend on what else is in its batch. An int8 graph has operators
of ONNX Runtime (`layers`).

A reranker's last layer is computed for the first token alone, which is all that its classifier
reads: the others are read there as keys and values only.

Inputs are `input_ids` (n, length) int64 and, for rerankers that tell segments apart,
`token_type_ids` of that shape. The output is `vectors` (n, d) float32 unit rows, or `logits` (n,)
float32.
"""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from crx.models.card import Pooling, Precision
from crx.models.convert.graph_writer import RUNTIME, GraphWriter
from crx.models.convert.layers import (
    ByteLayers,
    LayerWriter,
    SingleLayers,
    write_linear,
    write_norm,
)
from crx.models.convert.weights import BLOCK, CODE_ZERO, Blocks, EncoderWeights
from crx.models.source_folder import Architecture

OPSET = 20
VECTORS = "vectors"
LOGITS = "logits"
_AXES_ARE_INPUTS = 18
_TINY = np.finfo(np.float32).tiny


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
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME, 1)]
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
    graph = GraphWriter(max(opsets), mark="crx_pooling")
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


class _Encoder:
    """Writes an encoder of one shape, in one precision."""

    def __init__(self, shape: Architecture, precision: Precision) -> None:
        self.graph = GraphWriter(OPSET, mark="crx")
        self._shape = shape
        self._precision = precision

    def encode(self, weights: EncoderWeights) -> str:
        """Write the encoder; returns its (n, length, hidden) output.

        A reranker's is (n, 1, hidden).
        """
        embedded = self._embeddings(weights)
        x = write_norm(self.graph, embedded, weights.norm, epsilon=self._shape.epsilon)
        writer: LayerWriter = (
            SingleLayers(self.graph, self._shape)
            if self._precision == "fp32"
            else ByteLayers(self.graph, self._shape)
        )
        *below, last = weights.layers
        for layer in below:
            x = writer.layer(x, x, layer)
        asked = x
        if weights.head is not None:
            asked = self.graph.op("Gather", x, self.graph.integers(0), axis=1)
        return writer.layer(asked, x, last)

    def project(self, x: str, weights: EncoderWeights) -> str:
        """Write the dense projections of a pooled vector."""
        for dense in weights.dense:
            x = write_linear(self.graph, x, dense.linear)
            x = self.graph.op("Tanh", x) if dense.activation == "tanh" else x
        return x

    def head(self, x: str, weights: EncoderWeights) -> str:
        """Write a reranker's classifier over the (n, 1, hidden) first tokens: (n, 1, 1)."""
        if weights.head is None:
            raise ValueError("the model has no classifier")
        hidden = self.graph.op("Tanh", write_linear(self.graph, x, weights.head.dense))
        return write_linear(self.graph, hidden, weights.head.out)

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
        """Write the rows of the word table that are looked up.

        An int8 reranker's has a scale a row and half the size. An embedder's stays in half
        precision, or in the blocks it came in: its vectors are kept, and must not move.
        """
        if isinstance(weights.words, Blocks):
            return self._block_rows(weights.words, "input_ids")
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

    def _block_rows(self, table: Blocks, at: str) -> str:
        """Write rows of a table of 4-bit codes, two a byte: the first half of a row is low."""
        graph = self.graph
        columns = table.codes.shape[1]
        low, high = np.split(table.codes, 2, axis=1)
        pairs = graph.op("Gather", graph.constant(low | (high << 4)), at)
        low_codes = graph.op("BitwiseAnd", pairs, graph.constant(np.uint8(15)))
        low_codes = graph.op("Cast", low_codes, to=TensorProto.FLOAT)
        # Not BitShift: OpenVINO rounds what it shifts out.
        high_codes = graph.op("Sub", graph.op("Cast", pairs, to=TensorProto.FLOAT), low_codes)
        high_codes = graph.op("Mul", high_codes, graph.constant(np.float32(1 / 16)))
        codes = graph.op("Concat", low_codes, high_codes, axis=-1)
        values = graph.op("Sub", codes, graph.constant(np.float32(CODE_ZERO)))
        blocks = graph.op("Reshape", values, graph.integers(0, 0, columns // BLOCK, BLOCK))
        scales = graph.op("Gather", graph.constant(table.scales), at)
        scales = graph.op("Cast", scales, to=TensorProto.FLOAT)
        product = graph.op("Mul", blocks, graph.op("Unsqueeze", scales, graph.integers(-1)))
        return graph.op("Reshape", product, graph.integers(0, 0, columns))


def _pool(graph: GraphWriter, x: str, pooling: Pooling) -> str:
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


def _unit(graph: GraphWriter, x: str) -> None:
    """Write the unit rows of a (n, 1, d) tensor as the (n, d) output."""
    square = graph.op("MatMul", x, graph.op("Transpose", x, perm=[0, 2, 1]))
    unit = graph.op("Div", x, graph.op("Sqrt", square))
    size = graph.op("Gather", graph.op("Shape", x), graph.integers(0, 2))
    graph.op("Reshape", unit, size, output=VECTORS)
