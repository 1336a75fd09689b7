"""Recognition of text in images (OCR): pages of a PDF without a text layer, and image files.

It is off unless the setting `ocr` names an engine. `rapidocr` has its models in its package and
needs no network.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from crx.errors import NotText, UsageError
from crx.ingest.readers.file_title import name_title
from crx.types import Document

if TYPE_CHECKING:  # the worker process starts twice as fast without it
    import numpy as np
    from numpy.typing import NDArray

extensions = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp")
_ENGINES = ("rapidocr",)
HOW = 'pip install "crx[ocr]", then --set ocr=rapidocr reads it'

# The pixels of an image, rows by columns by colours, or the bytes of an image file.
Image: TypeAlias = "NDArray[np.uint8] | bytes"
Recognize: TypeAlias = "Callable[[Image], str]"

# Lines are found in an image of this longer side: seven points on A4 are read as well as in a
# larger one, in a third of the time. The engine's classifier of turned lines loses one word in
# twenty of an upright page (`benches/ocr.py`), so whole images are turned.
_OPTIONS = {"Global.use_cls": False, "Det.limit_type": "max", "Det.limit_side_len": 1280}
# Pages have a confidence of .97 and more, those that stand upside down .55 to .66.
_UPRIGHT = 0.8
# Characters of a piece of text that shows which way it runs.
_LONG = 4


class Reading(NamedTuple):
    """The text of an image, the mean confidence of its lines, and whether they run upwards."""

    text: str
    confidence: float
    is_sideways: bool


def require_engine(name: str) -> None:
    """Raise `UsageError` for an engine that there is not, or that is not installed."""
    if name not in _ENGINES:
        raise UsageError(f"ocr = {name}: no such engine; use {', '.join(_ENGINES)}")
    if find_spec(name) is None:
        raise UsageError(f'ocr = {name}: not installed; pip install "crx[ocr]"')


@cache
def load_recognizer() -> Recognize:
    """Load the engine; returns a function that gives the lines of an image, from the top down."""
    # Imported here: it takes seconds, and few inputs need it.
    from rapidocr import RapidOCR

    logging.getLogger("RapidOCR").disabled = True
    engine = RapidOCR(params={"Global.log_level": "critical", **_OPTIONS})

    def recognize(image: Image) -> str:
        pixels = engine.load_img(image)
        return read_upright(lambda turns: as_reading(engine(_turn(pixels, turns))))

    return recognize


def _turn(pixels: NDArray[np.uint8], quarter_turns: int) -> NDArray[np.uint8]:
    for _ in range(quarter_turns):
        pixels = pixels.swapaxes(0, 1)[::-1]
    return pixels


def as_reading(found: Any) -> Reading:
    """Return what the engine found in an image."""
    if found.txts is None:
        return Reading("", confidence=0, is_sideways=False)
    # A single character is taller than wide.
    long = [at for at, text in enumerate(found.txts) if len(text) >= _LONG]
    width, height = (found.boxes[long].max(axis=1) - found.boxes[long].min(axis=1)).sum(axis=0)
    return Reading(
        "\n".join(join_rows(found.txts, found.boxes)),
        confidence=sum(found.scores) / len(found.scores),
        is_sideways=bool(height > width),
    )


def read_upright(read: Callable[[int], Reading]) -> str:
    """Return the text of an image, which `read` reads after some quarter turns, an upright once."""
    reading = read(0)
    if reading.is_sideways:
        turned = max(read(1), read(3), key=lambda each: each.confidence)
        return turned.text if turned.confidence >= _UPRIGHT else reading.text
    if reading.text and reading.confidence < _UPRIGHT:
        return max(reading, read(2), key=lambda each: each.confidence).text
    return reading.text


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
