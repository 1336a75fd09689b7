"""Reading of bytes into documents, in a worker process.

Parsers of PDF, HTML and office files are large, and parts of them are written in C; a reader of
plain text may take long for a text that was made to this end. In a worker process a file that makes
its reader crash, hang or take all memory costs this file and nothing else. The worker starts with
the first file and reads all further ones. While documents of one file are used, it reads the next
files: they are sent several at a time, and answered in the same order.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from crx.errors import InputError, SystemFailure
from crx.ingest._worker.messages import DEFAULT_LIMITS, FAILURES, ReadLimits, decode_document
from crx.ingest.file_kinds import DEFAULT_MAX_BYTES
from crx.ingest.readers import require_plugins
from crx.ingest.readers.scan import require_engine
from crx.ingest.unread_parts import PartlyRead
from crx.types import Document
from crx.workers.child import Child, child_command
from crx.workers.messages import ChildLost, ChildSilent, ChildUnheard, Message, encode_message
from crx.workers.supervisor import OUT_OF_TURN, START_S, ChildRefused, Supervisor

_COMMAND = child_command("crx.ingest._worker.child")
# Seconds after the worker's own time limits, which the kernel enforces.
_GRACE_S = 5.0
# Files after which a worker is replaced, so that what parsers leak does not add up.
_FILES_A_WORKER = 4000
# Files, and their bytes, that wait to be read: enough that neither process waits for the other.
_FILES_AHEAD = 64
_BYTES_AHEAD = 4_000_000
# Files, or their bytes, that are sent together while the worker still reads others.
_FILES_AT_ONCE = 16
_BYTES_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    """The bytes of one file, and what is needed to read them."""

    data: bytes
    name: str
    max_bytes: int

    def encode(self) -> bytes:
        """Return the message, with the bytes after it."""
        size, most = len(self.data), self.max_bytes
        message = {"op": "read", "name": self.name, "size": size, "max_bytes": most}
        return encode_message(message) + self.data


@dataclass(slots=True)
class _Conversation:
    """A worker, and how many files it was sent and has answered."""

    child: Child
    sent: int = 0
    answered: int = 0


class IsolatedReader:
    """Reads bytes into documents, in a worker process.

    `ocr` names the engine that recognizes text in images, "" for none. For one thread at a time.
    `close` ends the worker; so does the end of this process.
    """

    def __init__(self, limits: ReadLimits = DEFAULT_LIMITS, *, ocr: str = "") -> None:
        if ocr:
            require_engine(ocr)
        self._limits = limits
        opening = {"seconds": limits.seconds, "memory_mb": limits.memory_mb, "ocr": ocr}
        self._supervisor = Supervisor(_COMMAND, opening)
        self._conversation: _Conversation | None = None
        self._waiting: deque[_Request] = deque()

    def __enter__(self) -> IsolatedReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process id of the worker, None if none runs."""
        child = self._supervisor.child
        return None if child is None else child.pid

    @property
    def is_full(self) -> bool:
        """Whether so many files wait that no more should be submitted."""
        return len(self._waiting) >= _FILES_AHEAD or _size(self._waiting) >= _BYTES_AHEAD

    def close(self) -> None:
        """End the worker."""
        self._conversation = None
        self._supervisor.close()

    def read(
        self, data: bytes, *, name: str, max_bytes: int = DEFAULT_MAX_BYTES
    ) -> Iterator[Document]:
        """Yield the documents that bytes hold; see `read_bytes`.

        Raises `InputError` also for bytes that make their reader crash or exceed a limit, and for
        more than `max_bytes` characters of text; `SystemFailure` if no worker can be started.
        """
        yield from self.submit(data, name=name, max_bytes=max_bytes)

    def submit(self, data: bytes, *, name: str, max_bytes: int) -> Iterator[Document]:
        """Let the worker read bytes as soon as it can; return their documents, as `read` does.

        The documents of what was submitted are to be taken in the same order. Raises `UsageError`
        if two readers of other packages claim an extension.
        """
        require_plugins()
        request = _Request(data, name, max_bytes)
        self._waiting.append(request)
        return self._take(request)

    def _take(self, request: _Request) -> Iterator[Document]:
        """Yield the documents of the request that has waited longest."""
        if self._waiting[0] is not request:
            raise ValueError(f"{request.name}: files are read in the order of their submission")
        finished = False
        try:
            yield from self._read(request)
            finished = True
        except InputError:
            finished = True
            raise
        finally:
            self._waiting.popleft()
            if not finished:  # the worker still writes what is no longer wanted
                self.close()
            elif self._conversation is not None:
                self._conversation.answered += 1

    def _read(self, request: _Request) -> Iterator[Document]:
        """Yield the documents of the first file that waits; try it again in a fresh worker."""
        chars = 0
        while True:
            conversation = self._converse()
            try:
                self._send_waiting(conversation)
                for document in self._receive(conversation.child):
                    chars += len(document.text)
                    if chars > request.max_bytes:
                        self.close()
                        limit = request.max_bytes // 1_000_000
                        raise InputError(
                            f"holds more than max_file_mb = {limit} million characters of text; "
                            f"--set max_file_mb=MB raises it"
                        )
                    yield document
                return
            except ChildUnheard as lost:
                self.close()
                raise SystemFailure(f"the process that reads files cannot answer: {lost}") from lost
            except ChildLost as lost:
                self.close()
                # An earlier file may have damaged the worker's memory: a fresh one tells.
                if not conversation.answered or chars or _is_timeout(lost):
                    raise InputError(self._describe(lost)) from lost

    def _send_waiting(self, conversation: _Conversation) -> None:
        """Send the files that wait, several at a time."""
        unread = conversation.sent - conversation.answered
        unsent = list(islice(self._waiting, unread, unread + _FILES_A_WORKER - conversation.sent))
        if not unread or len(unsent) >= _FILES_AT_ONCE or _size(unsent) >= _BYTES_AT_ONCE:
            self._send(conversation, unsent)

    def _converse(self) -> _Conversation:
        """Return the conversation with the worker, which is started or replaced if need be."""
        current = self._conversation
        if current is not None and current.sent == current.answered >= _FILES_A_WORKER:
            self.close()
        try:
            child = self._supervisor.take()
        except (ChildLost, ChildRefused) as why:
            raise SystemFailure(
                f"the process that reads files cannot be started: {why}; "
                f'"crx doctor" checks the installation'
            ) from why
        if self._conversation is None or self._conversation.child is not child:
            self._conversation = _Conversation(child)
        return self._conversation

    def _send(self, conversation: _Conversation, requests: Sequence[_Request]) -> None:
        conversation.sent += len(requests)
        data = b"".join(request.encode() for request in requests)
        try:
            conversation.child.send_bytes(data, timeout_s=max(START_S, self._timeout_s))
        except ChildSilent:
            raise
        except ChildLost:
            pass  # it may have answered before it died: what is received tells

    @property
    def _timeout_s(self) -> float:
        return self._limits.wall_seconds + _GRACE_S

    def _receive(self, child: Child) -> Iterator[Document]:
        """Yield the documents of the file that is to be answered next."""
        while (reply := child.receive_reply(timeout_s=self._timeout_s)).get("op") == "document":
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


def _size(requests: Iterable[_Request]) -> int:
    """Return the bytes of files."""
    return sum(len(request.data) for request in requests)


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
    refused = reply.get("refused")
    if op == "failed" and isinstance(refused, dict):
        reasons = {str(part): str(reason) for part, reason in refused.items()}
        raise PartlyRead(str(reply.get("reason")), reasons)
    if op == "failed":
        raise FAILURES.get(str(reply.get("kind")), InputError)(str(reply.get("reason")))
    if op == "out-of-memory":
        raise _OutOfMemory("no memory left")
    if op != "done":
        raise ChildLost(OUT_OF_TURN)
