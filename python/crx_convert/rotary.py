"""Attention with rotary positions, to all tokens or to those nearby, in an ONNX graph.

In a local layer, tokens attend in blocks: a block of queries, as long as the window, sees the
tokens of its own block and of a window on each side. Time and memory of such a layer grow with the
length of the text, not with its square, and the scores of a global layer are never held at once
(flash attention; Dao et al. 2022). The operators for both are in ONNX Runtime, not in the standard.

Source: Su et al. 2021 (rotary positions), Warner et al. 2024 (ModernBERT).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from crx._models.source_folder import Architecture, RotaryAttention
from crx_convert.graph_writer import RUNTIME_DOMAIN, GraphWriter

# Added to the score of a token outside of the window.
_MASKED = np.float32(-1e30)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Blocks of queries: names of the tensors that are the same in all local layers.

    `queries` (blocks, size) and `keys` (blocks, seen) are positions; `mask` (n * blocks, 1, size,
    seen) is added to the scores.
    """

    queries: str
    keys: str
    mask: str


class RotaryWriter:
    """Writes the attention of layers, after the projections to queries, keys and values."""

    def __init__(self, graph: GraphWriter, rotary: RotaryAttention, shape: Architecture) -> None:
        self._graph = graph
        self._rotary = rotary
        self._heads = shape.heads
        self._hidden = shape.hidden
        self._rotations: dict[float, tuple[str, str]] = {}
        self._blocks: _Blocks | None = None

    def write_attention(self, layer: int, query: str, key: str, value: str, *, is_all: bool) -> str:
        """Write the attention of a layer, given its number from 0; return the context.

        `query`, `key` and `value` are (n, length, hidden). Without `is_all`, `query` is that of the
        first token alone, (n, 1, hidden), which is not rotated. The context has its shape.
        """
        graph, is_local = self._graph, self._rotary.is_local[layer]
        rotation = self._write_rotation(self._rotary.bases[is_local])
        key = self._rotate(key, rotation)
        if not is_all:
            if is_local:
                zero, end = graph.int64s(0), graph.int64s(self._rotary.window + 1)
                key, value = (
                    graph.op("Slice", x, zero, end, graph.int64s(1)) for x in (key, value)
                )
            return self._attend(query, key, value)
        query = self._rotate(query, rotation)
        return (
            self._attend_nearby(query, key, value) if is_local else self._attend(query, key, value)
        )

    def _attend(self, query: str, key: str, value: str, mask: str = "") -> str:
        optional = ["", "", mask] if mask else []
        inputs = (query, key, value, *optional)
        return self._graph.op(
            "MultiHeadAttention", *inputs, domain=RUNTIME_DOMAIN, num_heads=self._heads
        )

    def _attend_nearby(self, query: str, key: str, value: str) -> str:
        graph = self._graph
        self._blocks = blocks = self._blocks or self._write_blocks(query)
        rows = graph.int64s(-1)

        def gather(x: str, positions: str) -> str:
            size = graph.op("Shape", positions, start=1, end=2)
            shape = graph.op("Concat", rows, size, graph.int64s(self._hidden), axis=0)
            return graph.op("Reshape", graph.op("Gather", x, positions, axis=1), shape)

        queries = gather(query, blocks.queries)
        keys, values = (gather(each, blocks.keys) for each in (key, value))
        context = self._attend(queries, keys, values, blocks.mask)
        count = graph.op("Shape", "input_ids", start=0, end=1)
        shape = graph.op("Concat", count, rows, graph.int64s(self._hidden), axis=0)
        context = graph.op("Reshape", context, shape)
        length = graph.op("Shape", "input_ids", start=1, end=2)
        return graph.op("Slice", context, graph.int64s(0), length, graph.int64s(1))

    def _rotate(self, x: str, rotation: tuple[str, str]) -> str:
        zero = self._graph.int64s(0)
        return self._graph.op(
            "RotaryEmbedding", x, zero, *rotation, domain=RUNTIME_DOMAIN, num_heads=self._heads
        )

    def _write_rotation(self, base: float) -> tuple[str, str]:
        """Write the cosines and sines of a base once; return their names, (length, size / 2)."""
        if base not in self._rotations:
            graph, size = self._graph, self._hidden // self._heads
            frequencies = base ** -(np.arange(0, size, 2, dtype=np.float64) / size)
            positions = graph.op("Cast", self._write_range(self._length()), to=TensorProto.FLOAT)
            positions = graph.op("Unsqueeze", positions, graph.int64s(1))
            angles = graph.op("Mul", positions, graph.constant(frequencies.astype(np.float32)))
            self._rotations[base] = graph.op("Cos", angles), graph.op("Sin", angles)
        return self._rotations[base]

    def _write_blocks(self, x: str) -> _Blocks:
        """Write the positions of the blocks of queries and of the keys that each sees.

        All keys are tokens of the text: at its ends, the keys of a block are shifted inwards. The
        last block repeats the last token.
        """
        graph, window = self._graph, self._rotary.window
        zero, wide = graph.constant(np.int64(0)), graph.constant(np.int64(window))
        length = self._length()
        size = graph.op("Min", length, wide)
        seen = graph.op("Min", length, graph.constant(np.int64(3 * window)))
        last = graph.op("Sub", length, graph.constant(np.int64(1)))
        rounded = graph.op("Sub", graph.op("Add", length, size), graph.constant(np.int64(1)))
        count = graph.op("Div", rounded, size)
        starts = graph.op("Mul", self._write_range(count), size)
        starts = graph.op("Unsqueeze", starts, graph.int64s(1))
        queries = graph.op("Min", graph.op("Add", starts, self._write_range(size)), last)
        first = graph.op("Max", graph.op("Sub", starts, wide), zero)
        first = graph.op("Min", first, graph.op("Sub", length, seen))
        keys = graph.op("Add", first, self._write_range(seen))
        distance = graph.op(
            "Sub",
            graph.op("Unsqueeze", queries, graph.int64s(1, 3)),
            graph.op("Unsqueeze", keys, graph.int64s(1, 2)),
        )
        is_far = graph.op("Greater", graph.op("Abs", distance), wide)
        mask = graph.op("Where", is_far, graph.constant(_MASKED), graph.constant(np.float32(0)))
        texts = graph.op("Shape", x, start=0, end=1)
        repeats = graph.op("Concat", texts, graph.int64s(1, 1, 1), axis=0)
        return _Blocks(queries, keys, graph.op("Tile", mask, repeats))

    def _length(self) -> str:
        """Write the number of tokens in a text, a scalar."""
        return self._graph.op("Squeeze", self._graph.op("Shape", "input_ids", start=1, end=2))

    def _write_range(self, end: str) -> str:
        zero, one = (self._graph.constant(np.int64(each)) for each in (0, 1))
        return self._graph.op("Range", zero, end, one)
