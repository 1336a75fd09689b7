"""Reader of Jupyter notebooks: the cells, and what they print.

Headings are those of the Markdown cells. A cell's outputs follow it as far as they are text, cut to
a length; pictures and errors are left out. Each cell is a mark, numbered from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import orjson

from crx.errors import InputError, NothingToRead
from crx.ingest.readers import markdown
from crx.ingest.readers.decode import TERMINAL_CODES, without_embedded
from crx.ingest.readers.headings import Heading
from crx.ingest.readers.html import read_page
from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.text_builder import TextBuilder
from crx.types import Document, Scalar

extensions = (".ipynb",)

_OUTPUT_CHARS = 2000  # of one cell; more is data that was printed


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the notebook's text with its cells and headings."""
    try:
        notebook = orjson.loads(data)
    except orjson.JSONDecodeError as failed:
        raise InputError(f"is no notebook: not JSON ({failed.msg})") from failed
    text, left_out = TextBuilder(), LeftOut()
    for number, cell in enumerate(_cells(notebook), start=1):
        text.begin("cell", str(number))
        source = without_embedded(_joined(cell.get("source", cell.get("input"))))
        text.add_part(source, _headings(source) if cell.get("cell_type") == "markdown" else ())
        show = partial(_outputs, cell.get("outputs"))
        text.add(left_out.attempt(f"outputs of cell {number}", show, plain=""))
    if not text:
        raise NothingToRead("has no text")
    metadata: dict[str, Scalar | list[Scalar]] = {**left_out.metadata(), "format": "ipynb"}
    if language := _language(notebook):
        metadata["language"] = language
    yield text.build(name, title="", metadata=metadata)


def _cells(notebook: Any) -> list[dict[str, Any]]:
    """Return the cells; those of version 3 of the format are in worksheets."""
    if not isinstance(notebook, dict):
        raise InputError("is no notebook: not a JSON object")
    sheets = notebook.get("worksheets")
    first = sheets[0] if isinstance(sheets, list) and sheets else notebook
    cells = first.get("cells") if isinstance(first, dict) else None
    if not isinstance(cells, list):
        raise InputError('is no notebook: has no list of "cells"')
    return [cell for cell in cells if isinstance(cell, dict)]


def _headings(source: str) -> list[Heading]:
    return [Heading(mark.start, mark.label, mark.level) for mark in markdown.headings(source)]


def _outputs(outputs: Any) -> str:
    if not isinstance(outputs, list):
        return ""
    shown = (_shown(output) for output in outputs if isinstance(output, dict))
    return re.sub(TERMINAL_CODES, "", "\n".join(filter(None, shown)))[:_OUTPUT_CHARS]


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data")
    data = data if isinstance(data, dict) else {}
    plain = output.get("text") or data.get("text/plain") or data.get("text/markdown")
    if plain or not (page := _joined(data.get("text/html"))):
        return _joined(plain)
    return read_page(page.encode()).text


def _joined(written: Any) -> str:
    """Return a text that the format writes as one or as a list of lines."""
    lines = written if isinstance(written, list) else [written]
    return "".join(line for line in lines if isinstance(line, str)).replace("\r\n", "\n")


def _language(notebook: Any) -> str:
    metadata = notebook.get("metadata")
    kernel = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    language = kernel.get("language") if isinstance(kernel, dict) else None
    return language if isinstance(language, str) else ""
