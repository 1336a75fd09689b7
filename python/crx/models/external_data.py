"""External data of an ONNX graph: the files from which ONNX Runtime would read its tensors.

A graph names them by path. One that leads out of the model's folder would read any file of the
user, so a graph's protocol buffer is walked for these names before it is loaded. Weights are
skipped, not read: it takes milliseconds. The numbers of fields are those of `onnx.proto`.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path

from crx.errors import ModelError

Buffer = mmap.mmap | memoryview | bytes
Field = tuple[int, int, int]

# The fields of each message that lead to tensors, and the message that each one is.
_MESSAGES: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {
        5: "tensor",
        6: "graph",
        10: "tensor",
        11: "graph",
        22: "sparse",
        23: "sparse",
    },
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}
_KEY, _VALUE = 1, 2
_LOCATION = b"location"
_MAX_DEPTH = 64


def external_files(graph: Path) -> set[str]:
    """Return the names of the files that a graph reads tensors from, as it gives them.

    Raises `ModelError` if the file is no ONNX graph.
    """
    try:
        with graph.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return set(_locations(data, 0, len(data), "model", 0))
    except (ValueError, IndexError, OSError) as error:
        raise ModelError(f"{graph}: not an ONNX graph ({error}); get the model again") from None


def require_own_files(graph: Path, known: Mapping[str, str]) -> None:
    """Raise `ModelError` if a graph reads tensors from a file that its model's card does not list.

    The files of a card lie in the model's folder, and their hashes are checked.
    """
    for name in sorted(external_files(graph) - known.keys()):
        raise ModelError(
            f"{graph}: reads tensors from {name!r}, which is no file of the model; "
            "get the model from a source that you trust"
        )


def _locations(data: Buffer, start: int, end: int, message: str, depth: int) -> Iterator[str]:
    """Yield the locations of external data in a message, and in the messages in it."""
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deeply")
    inner = _MESSAGES[message]
    for field, at, stop in _fields(data, start, end):
        kind = inner.get(field)
        if kind == "entry":
            entry = {
                number: bytes(data[first:last]) for number, first, last in _fields(data, at, stop)
            }
            if entry.get(_KEY) == b"location":
                yield entry.get(_VALUE, b"").decode()
        elif kind is not None:
            yield from _locations(data, at, stop, kind, depth + 1)


def _fields(data: Buffer, at: int, end: int) -> Iterator[Field]:
    """Yield the number and the span of each field of a message that has a length."""
    while at < end:
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            _, at = _varint(data, at)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        elif kind == 2:
            length, at = _varint(data, at)
            if at + length > end:
                raise ValueError("a field is longer than its message")
            yield tag >> 3, at, at + length
            at += length
        else:
            raise ValueError(f"a field of type {kind}")
    if at != end:
        raise ValueError("a message ends within a field")


def _varint(data: Buffer, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than ten bytes")
