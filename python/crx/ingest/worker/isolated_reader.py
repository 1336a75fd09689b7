"""Reading of bytes into documents, in a worker process unless they are plain text.

Parsers of PDF, HTML and office files are large, and parts of them are written in C. A file can make
one crash, hang or take all memory. In a worker process that costs this file and nothing else. The
worker starts with the first file that needs it and reads all further ones.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from crx.errors import InputError, NotText, SystemFailure
from crx.ingest.read import DEFAULT_MAX_BYTES, is_image, is_plain_text, read_bytes
from crx.ingest.readers.scan import require_engine
from crx.ingest.readers.structure import suffix
from crx.ingest.worker.limits import DEFAULT_LIMITS, ReadLimits
from crx.ingest.worker.messages import decode_document
from crx.types import Document
from crx.workers.child import Child, child_command
from crx.workers.messages import ChildLost, ChildSilent, Message
from crx.workers.supervisor import OUT_OF_TURN, START_S, ChildRefused, Supervisor

_COMMAND = child_command("crx.ingest.worker.child")
# Seconds after the worker's own time limits, which the kernel enforces.
_GRACE_S = 5.0
# Files after which a worker is replaced, so that what parsers leak does not add up.
_FILES_A_WORKER = 1000


class IsolatedReader:
    """Reads bytes into documents, in a worker process unless they are plain text.

    `ocr` names the engine that recognizes text in images, "" for none. For one thread at a time.
    `close` ends the worker; so does the end of this process.
    """

    def __init__(self, limits: ReadLimits = DEFAULT_LIMITS, *, ocr: str = "") -> None:
        if ocr:
            require_engine(ocr)
        self._limits = limits
        self._ocr = ocr
        opening = {"seconds": limits.seconds, "memory_mb": limits.memory_mb, "ocr": ocr}
        self._supervisor = Supervisor(_COMMAND, opening, max_tasks=_FILES_A_WORKER)

    def __enter__(self) -> IsolatedReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process id of the worker, None if none runs."""
        child = self._supervisor.child
        return None if child is None else child.pid

    def close(self) -> None:
        """End the worker."""
        self._supervisor.close()

    def read(
        self, data: bytes, *, name: str, max_bytes: int = DEFAULT_MAX_BYTES
    ) -> Iterator[Document]:
        """Yield the documents that bytes hold; see `read_bytes`.

        Raises `InputError` also for bytes that make their reader crash or exceed a limit, and for
        more than `max_bytes` characters of text; `SystemFailure` if no worker can be started.
        """
        if is_plain_text(data, name) and not (self._ocr and is_image(suffix(name))):
            yield from read_bytes(data, name=name, max_bytes=max_bytes)
            return
        finished = False
        try:
            yield from self._read(data, name, max_bytes)
            finished = True
        except InputError:
            finished = True
            raise
        finally:
            if not finished:  # the worker still writes what is no longer wanted
                self.close()

    def _read(self, data: bytes, name: str, max_bytes: int) -> Iterator[Document]:
        chars = 0
        while True:
            child = self._take_worker()
            is_fresh = self._supervisor.tasks == 1
            try:
                for document in self._converse(child, data, name, max_bytes):
                    chars += len(document.text)
                    if chars > max_bytes:
                        self.close()
                        limit = max_bytes // 1_000_000
                        raise InputError(
                            f"holds more than max_file_mb = {limit} million characters of text; "
                            f"--set max_file_mb=MB raises it"
                        )
                    yield document
                return
            except ChildLost as lost:
                self.close()
                # An earlier file may have damaged the worker's memory: a fresh one tells.
                if is_fresh or chars or _is_timeout(lost):
                    raise InputError(self._describe(lost)) from lost

    def _take_worker(self) -> Child:
        """Return the worker, started if need be."""
        try:
            return self._supervisor.take()
        except (ChildLost, ChildRefused) as why:
            raise SystemFailure(
                f"the process that reads files cannot be started: {why}; "
                f'"crx doctor" checks the installation'
            ) from why

    def _converse(self, child: Child, data: bytes, name: str, max_bytes: int) -> Iterator[Document]:
        """Send one file and yield its documents."""
        asked = {"op": "read", "name": name, "size": len(data), "max_bytes": max_bytes}
        child.send(asked, timeout_s=START_S)
        child.send_bytes(data, timeout_s=START_S)
        timeout_s = self._limits.wall_seconds + _GRACE_S
        while (reply := child.receive_reply(timeout_s=timeout_s)).get("op") == "document":
            yield _decode(reply)
        _raise_failure(reply)

    def _describe(self, lost: ChildLost) -> str:
        """Return why a file is not read, as one line."""
        seconds, memory = self._limits.seconds, self._limits.memory_mb
        if _is_timeout(lost):
            return (
                f"takes more than {seconds} s to read; --set read_seconds={2 * seconds} allows it"
            )
        if isinstance(lost, _OutOfMemory):
            return (
                f"takes more than {memory} MB to read; --set read_memory_mb={2 * memory} allows it"
            )
        return f"made its reader fail: {lost}"


class _OutOfMemory(ChildLost):
    """The worker had no memory left, and is of no further use."""


def _is_timeout(lost: ChildLost) -> bool:
    return isinstance(lost, ChildSilent) or lost.signal in (signal.SIGALRM, signal.SIGXCPU)


def _decode(reply: Message) -> Document:
    try:
        return decode_document(reply)
    except (KeyError, TypeError, ValueError):
        raise ChildLost("an unreadable answer") from None


def _raise_failure(reply: Message) -> None:
    """Raise what the worker reports instead of a document, unless it is done."""
    op = reply.get("op")
    if op == "failed":
        raise (NotText if reply.get("not_text") else InputError)(str(reply.get("reason")))
    if op == "out-of-memory":
        raise _OutOfMemory("no memory left")
    if op != "done":
        raise ChildLost(OUT_OF_TURN)
