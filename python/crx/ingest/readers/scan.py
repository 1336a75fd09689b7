"""Recognition of text in images (OCR): pages of a PDF without a text layer, and image files.

It is off unless the setting `ocr` names an engine. `rapidocr` has its models in its package and
needs no network.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from crx.errors import NotText, UsageError
from crx.ingest.readers.file_title import name_title
from crx.types import Document

if TYPE_CHECKING:  # the worker process starts twice as fast without it
    import numpy as np
    from numpy.typing import NDArray

extensions = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp")
ENGINES = ("rapidocr",)
HOW = 'pip install "crx[ocr]", then --set ocr=rapidocr reads it'

# The pixels of an image, rows by columns by colours, or the bytes of an image file.
Image: TypeAlias = "NDArray[np.uint8] | bytes"
Recognize: TypeAlias = "Callable[[Image], str]"


def require_engine(name: str) -> None:
    """Raise `UsageError` for an engine that there is not, or that is not installed."""
    if name not in ENGINES:
        raise UsageError(f"ocr = {name}: no such engine; use {', '.join(ENGINES)}")
    if find_spec(name) is None:
        raise UsageError(f'ocr = {name}: not installed; pip install "crx[ocr]"')


@cache
def load_recognizer() -> Recognize:
    """Load the engine; returns a function that gives the lines of an image, from the top down."""
    # Imported here: it takes seconds, and few inputs need it.
    from rapidocr import RapidOCR

    logging.getLogger("RapidOCR").disabled = True
    engine = RapidOCR(params={"Global.log_level": "critical"})

    def recognize(image: Image) -> str:
        found = engine(image)
        if found.txts is None:
            return ""
        return "\n".join(join_rows(found.txts, found.boxes))

    return recognize


def join_rows(texts: Sequence[str], boxes: Sequence[Any]) -> list[str]:
    """Return the lines of an image; pieces of text that stand side by side are one line.

    `boxes` are the four corners (x, y) of each piece; the pieces come from the top down.
    """
    rows: list[list[tuple[float, str]]] = []
    middle = 0.0
    for text, box in zip(texts, boxes, strict=True):
        ys = [float(y) for _, y in box]
        left = min(float(x) for x, _ in box)
        if rows and min(ys) < middle < max(ys):
            rows[-1].append((left, text))
        else:
            rows.append([(left, text)])
            middle = (min(ys) + max(ys)) / 2
    return [" ".join(text for _, text in sorted(row)) for row in rows]


def read_image(data: bytes, *, name: str, recognize: Recognize) -> Iterator[Document]:
    """Yield the text of an image file; raises `NotText` if it has none."""
    text = recognize(data)
    if not text.strip():
        raise NotText("is an image without text")
    yield Document(
        uri=name, text=text, title=name_title(name), metadata={"format": "image", "ocr": True}
    )
