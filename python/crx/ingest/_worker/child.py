"""The worker process: it reads the files whose bytes it is sent until its input ends.

It answers `open` (the limits, and whether images are recognized) with `ready`, and `read` (a name,
and the number of the bytes that follow) with a `document` for each, then `done` or `failed` with
the reason. Before each image that is recognized comes a heartbeat: the limits hold for each. It
answers `draw` (a page of a PDF, and the bytes that follow) with a `picture`, or `failed` likewise.
"""

from __future__ import annotations

import base64
import importlib
from collections.abc import Callable, Iterator
from functools import partial

from crx.errors import InputError
from crx.ingest._worker.messages import MOST_FILE_BYTES, ReadLimits, encode_document, failure_kind
from crx.ingest.formats import suffix
from crx.ingest.page_values import PagePicture, PageRequest
from crx.ingest.read import FORMATS, decompress, read_bytes
from crx.ingest.readers.scan import Image, Recognize, load_recognizer
from crx.ingest.unread_parts import PartlyRead
from crx.types import Document
from crx.workers.limits import limit_process, limit_time, restart_time
from crx.workers.messages import Message
from crx.workers.parent import Parent, run_child

# Bytes that the worker may write to a file: its messages go through pipes.
_FILE_BYTES = 16_000_000


def main() -> None:
    """Serve on the standard streams."""
    run_child(serve)


def serve(parent: Parent) -> None:
    """Answer messages until the parent is gone."""
    limits = ReadLimits()
    recognize: Recognize | None = None
    while (message := parent.receive()) is not None:
        if message["op"] == "open":
            limits = ReadLimits(message["seconds"], message["memory_mb"])
            limit_process(
                memory_bytes=limits.memory_mb * 1_000_000,
                file_bytes=_FILE_BYTES,
                child_file_bytes=MOST_FILE_BYTES,
            )
            if message["ocr"]:
                recognize = partial(_recognize, parent, limits)
            parent.send({"op": "ready"})
            continue
        data = parent.receive_bytes(message["size"])
        if data is None:
            return
        if message["op"] == "draw":
            parent.send(_draw(data, message, limits))
            continue
        documents = read_bytes(
            data, name=message["name"], max_bytes=message["max_bytes"], recognize=recognize
        )
        while (reply := _next_reply(documents, limits))["op"] == "document":
            parent.send(reply)
        parent.send(reply)


def _recognize(parent: Parent, limits: ReadLimits, image: Image) -> str:
    """Return the text of an image, within limits of its own."""
    parent.send_heartbeat()
    restart_time(cpu_s=limits.seconds, wall_s=limits.wall_seconds)
    return load_recognizer()(image)


def _draw(data: bytes, message: Message, limits: ReadLimits) -> Message:
    """Return the message of a page that is drawn."""
    # PDFium is loaded for a page that is drawn, and for a PDF that is read.
    pictures = importlib.import_module("crx.ingest.readers.pdf_picture")

    def draw() -> Message:
        compression = suffix(message["name"])
        content = data
        if compression in FORMATS:
            content = decompress(data, compression, max_bytes=message["max_bytes"])
        names = ("label", "text", "marked", "width")
        request = PageRequest(**{name: message[name] for name in names})
        picture: PagePicture = pictures.draw_page(content, request)
        png = base64.b64encode(picture.png).decode()
        return {
            "op": "picture",
            "png": png,
            "label": picture.label,
            "number": picture.number,
            "pages": picture.pages,
        }

    return _within_limits(draw, limits)


def _next_reply(documents: Iterator[Document], limits: ReadLimits) -> Message:
    """Return the message of the next document, or of the end."""

    def read() -> Message:
        for document in documents:
            return {"op": "document", **encode_document(document)}
        return {"op": "done"}

    return _within_limits(read, limits)


def _within_limits(work: Callable[[], Message], limits: ReadLimits) -> Message:
    """Return the message that work gives within the limits, or why it gives none."""
    try:
        with limit_time(cpu_s=limits.seconds, wall_s=limits.wall_seconds):
            return work()
    except PartlyRead as why:
        return {"op": "failed", "reason": str(why), "refused": why.refused}
    except InputError as why:
        return {"op": "failed", "reason": str(why), "kind": failure_kind(why)}
    except MemoryError:
        return {"op": "out-of-memory"}
    except RecursionError:
        return {"op": "failed", "reason": "nests too deeply to be read"}
    except Exception as why:  # noqa: BLE001 -- a reader's fault costs one file, not the run
        reason = f"made its reader fail: {type(why).__name__}: {why}"
        return {"op": "failed", "reason": reason}
