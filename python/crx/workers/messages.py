"""Messages between processes: JSON objects in UTF-8, framed by their length.

Neither side trusts the other: a message that is too long, not JSON or not an object ends the
conversation.
"""

from __future__ import annotations

import json
import struct
from typing import Any

Message = dict[str, Any]

# A document is one message. 256 MiB is longer than any document whose chunks can be situated.
_MAX_BYTES = 256 << 20

_LENGTH = struct.Struct(">I")


class ChildLost(Exception):
    """The child died, was silent for too long, or broke the protocol; the message says which.

    `signal` is the number of the signal that ended it, 0 for none.
    """

    def __init__(self, message: str, *, signal: int = 0) -> None:
        super().__init__(message)
        self.signal = signal


class ChildUnheard(ChildLost):
    """The child could not write its answer: the pipe failed, and not what it was asked for."""


class ChildSilent(ChildLost):
    """The child did not answer in time, or did not read what it was sent."""


def encode_message(message: Message) -> bytes:
    """Return a message as it is sent through the pipe."""
    body = json.dumps(message, ensure_ascii=False).encode(errors="surrogatepass")
    return _LENGTH.pack(len(body)) + body


def decode_message(buffer: bytearray) -> Message | None:
    """Remove the first whole message from the buffer and return it, None if there is none yet."""
    if len(buffer) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(buffer)
    if length > _MAX_BYTES:
        raise ChildLost("an answer without end")
    end = _LENGTH.size + length
    if len(buffer) < end:
        return None
    body = bytes(buffer[_LENGTH.size : end])
    del buffer[:end]
    try:
        message = json.loads(body)
    except ValueError:
        raise ChildLost("an unreadable answer") from None
    if not isinstance(message, dict):
        raise ChildLost("an unreadable answer")
    return message
