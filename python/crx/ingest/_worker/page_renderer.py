"""Drawing of PDF pages in a worker process, within limits."""

from __future__ import annotations

import base64
import threading

from crx.errors import Busy, InputError, SystemFailure
from crx.ingest._worker.messages import ReadLimits
from crx.ingest.page_values import PagePicture, PageRequest
from crx.workers.child import child_command
from crx.workers.messages import ChildLost, ChildSilent, Message, encode_message
from crx.workers.supervisor import OUT_OF_TURN, START_S, ChildRefused, Supervisor

# Seconds of the processor, and millions of bytes of memory, that the drawing of a page may take.
_LIMITS = ReadLimits(seconds=10, memory_mb=1500)
# Seconds after the worker's own limits, and seconds that a caller waits for others.
_GRACE_S = 5.0
_WAIT_S = 30.0


class PageRenderer:
    """Draws pages in a worker process, which starts with the first one.

    Any thread may use it; pages are drawn one at a time. `close` ends the worker.
    """

    def __init__(self, limits: ReadLimits = _LIMITS) -> None:
        self._limits = limits
        opening = {"seconds": limits.seconds, "memory_mb": limits.memory_mb, "ocr": ""}
        self._supervisor = Supervisor(child_command("crx.ingest._worker.child"), opening)
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the worker."""
        with self._lock:
            self._supervisor.close()

    def draw(self, data: bytes, request: PageRequest, *, name: str, max_bytes: int) -> PagePicture:
        """Draw a page of the bytes of a file of that name.

        Raises `InputError` if it cannot be drawn within the limits, `Busy` if others wait.
        """
        if not self._lock.acquire(timeout=_WAIT_S):
            raise Busy("too many pages are being drawn; try again")
        try:
            return self._draw(data, request, name=name, max_bytes=max_bytes)
        except ChildLost as lost:
            self._supervisor.close()
            raise InputError(f"{name}: the page cannot be drawn: {self._describe(lost)}") from lost
        finally:
            self._lock.release()

    def _draw(self, data: bytes, request: PageRequest, *, name: str, max_bytes: int) -> PagePicture:
        try:
            child = self._supervisor.take()
        except (ChildLost, ChildRefused) as why:
            raise SystemFailure(f"the process that draws pages cannot be started: {why}") from why
        message = {
            "op": "draw",
            "name": name,
            "size": len(data),
            "max_bytes": max_bytes,
            "label": request.label,
            "text": request.text,
            "marked": request.marked,
            "width": request.width,
        }
        timeout_s = self._limits.wall_seconds + _GRACE_S
        child.send_bytes(encode_message(message) + data, timeout_s=max(START_S, timeout_s))
        reply = child.receive_reply(timeout_s=timeout_s)
        if reply.get("op") == "failed":
            raise InputError(f"{name}: {reply.get('reason')}")
        if reply.get("op") == "out-of-memory":
            raise ChildLost("no memory left")
        return _decode(reply)

    def _describe(self, lost: ChildLost) -> str:
        if isinstance(lost, ChildSilent) or lost.signal:
            return f"it takes more than {self._limits.seconds} s"
        return str(lost)


def _decode(reply: Message) -> PagePicture:
    match reply:
        case {
            "op": "picture",
            "png": str(png),
            "label": str(label),
            "number": int(number),
            "pages": int(pages),
        }:
            return PagePicture(png=base64.b64decode(png), label=label, number=number, pages=pages)
    raise ChildLost(OUT_OF_TURN)
