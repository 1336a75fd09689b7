"""Rows in the binary format of `COPY ... FROM STDIN`.

See "COPY", File Formats, in the manual of PostgreSQL: each row is the number of its fields, each
field its length in bytes and its value, all in network byte order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
_TRAILER = struct.pack("!h", -1)
_NULL = struct.pack("!i", -1)
_INTEGER_OID = 23


def rows_of_numbers(columns: Sequence[NDArray[np.signedinteger]]) -> bytes:
    """Return rows of integers; the width of a column is that of its dtype."""
    fields: list[tuple[str, str]] = [("fields", ">i2")]
    for at, column in enumerate(columns):
        fields += [(f"size{at}", ">i4"), (f"value{at}", f">i{column.dtype.itemsize}")]
    rows = np.empty(len(columns[0]), np.dtype(fields))
    rows["fields"] = len(columns)
    for at, column in enumerate(columns):
        rows[f"size{at}"] = column.dtype.itemsize
        rows[f"value{at}"] = column
    return _HEADER + rows.tobytes() + _TRAILER


def rows_of_fields(rows: Iterable[Sequence[bytes | None]]) -> bytes:
    """Return rows of encoded fields, None for NULL."""
    parts = [_HEADER]
    for row in rows:
        parts.append(struct.pack("!h", len(row)))
        for field in row:
            if field is None:
                parts.append(_NULL)
            else:
                parts += [struct.pack("!i", len(field)), field]
    return b"".join([*parts, _TRAILER])


def encode_integer(value: int) -> bytes:
    """Return an `integer`."""
    return struct.pack("!i", value)


def encode_bigint(value: int) -> bytes:
    """Return a `bigint`."""
    return struct.pack("!q", value)


def encode_integers(values: Sequence[int]) -> bytes:
    """Return an `integer[]` of one dimension."""
    if not values:
        return struct.pack("!iii", 0, 0, _INTEGER_OID)
    elements = np.empty((len(values), 2), ">i4")
    elements[:, 0] = 4
    elements[:, 1] = values
    return struct.pack("!iiiii", 1, 0, _INTEGER_OID, len(values), 1) + elements.tobytes()


def encode_half_vector(vector: NDArray[np.float16]) -> bytes:
    """Return a `halfvec` of pgvector: its dimensions, two unused bytes, then the halves."""
    return struct.pack("!hh", len(vector), 0) + vector.astype(">f2").tobytes()
