"""Reader of Parquet files: the rows, a line each under the names of the columns.

pyarrow reads them, which is 40 MB and no part of the installation: `pip install "crx[parquet]"`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from io import BytesIO
from typing import Any

from crx.errors import InputError, NothingToRead
from crx.ingest.readers.file_title import name_title
from crx.ingest.readers.sheet_text import Cut, SheetText, one_line
from crx.types import Document, Scalar

extensions = (".parquet",)

_BATCH_ROWS = 1000
_MOST_COLUMNS = 200
# Characters of all cells. The worker's own limits hold besides.
_MOST_CHARS = 64_000_000


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the rows as lines."""
    arrow, parquet = _load()
    text = SheetText()
    try:
        arrow.set_memory_pool(arrow.system_memory_pool())
        file = parquet.ParquetFile(BytesIO(data), memory_map=False, pre_buffer=False)
        found = file.schema_arrow.names
        columns = found[:_MOST_COLUMNS]
        cut = Cut()
        cut.keep_first(_MOST_COLUMNS, of=len(found), kind="columns")
        rows = list(_rows(file, columns, cut))
    except (arrow.ArrowException, OSError, ValueError, OverflowError) as failed:
        reason = one_line(str(failed)).lower()[:200]
        raise InputError(f"is a damaged Parquet file: {reason}") from failed
    if not rows:
        raise NothingToRead("has no text")
    title = name_title(name)
    text.add_table(title or "table", columns, rows)
    whole, marks = text.build()
    metadata: dict[str, Scalar | list[Scalar]] = {"format": "parquet"}
    metadata |= cut.metadata()
    if title:
        metadata["title_from"] = "name"
    yield Document(uri=name, text=whole, title=title, metadata=metadata, marks=marks)


def _load() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise InputError(
            'is a Parquet file, which pyarrow reads: pip install "crx[parquet]"'
        ) from None


def _rows(file: Any, columns: list[str], cut: Cut) -> Iterator[tuple[int, str]]:
    """Yield the number and the line of each row that is not empty."""
    number = chars = 0
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=columns, use_threads=False):
        for row in zip(*map(_values, batch.columns), strict=True):
            number += 1
            line = "\t".join(cut.cell(value) for value in row).rstrip()
            chars += len(line)
            if chars > _MOST_CHARS:
                raise InputError(f"holds more than {_MOST_CHARS:,} characters")
            if line:
                yield number, line


def _values(column: Any) -> list[Any]:
    """Return the values of a column; Python's own have no nanoseconds, so these are strings."""
    kind = str(column.type)
    if kind.startswith(("timestamp[ns", "time64[ns", "duration[ns")):
        strings: list[Any] = column.cast("string").to_pylist()
        return strings
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        return [_value(scalar) for scalar in column]
    return values


def _value(scalar: Any) -> Any:
    """Return a value of Python, with strings for what Python has no type for."""
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        if hasattr(scalar, "keys"):
            return {name: _value(scalar[name]) for name in scalar.keys()}  # noqa: SIM118 -- a struct
        if hasattr(scalar, "values"):
            return [_value(each) for each in scalar.values]
        inner = getattr(scalar, "value", scalar)
        return (inner if hasattr(inner, "cast") else scalar).cast("string").as_py()
