"""Conversion of a document by LibreOffice, in a process that ends with this one."""

from __future__ import annotations

import base64
import time
from functools import cache

from crx.errors import InputError
from crx.ingest.outside_seconds import add_seconds
from crx.workers.child import child_command
from crx.workers.messages import ChildLost, Message, encode_message
from crx.workers.supervisor import ChildRefused, Supervisor
from crx_formats.libreoffice.program import find_program

# Seconds that a caller waits if it has no limit of its own; the process that reads files has.
_SILENT_S = 1200.0
# Seconds that the process has to end LibreOffice and to delete its private folder.
_END_S = 10.0


class _Converter:
    """The process that runs LibreOffice, started for the first document."""

    def __init__(self, program: str) -> None:
        self._supervisor = Supervisor(
            child_command("crx_formats.libreoffice.child"), {"program": program}
        )

    def convert(self, data: bytes, *, suffix: str, target: str) -> bytes:
        """Return the converted document; raises `InputError` if there is none."""
        request = {"op": "convert", "suffix": suffix, "target": target, "size": len(data)}
        start = time.monotonic()
        try:
            child = self._supervisor.take()
            child.send_bytes(encode_message(request) + data, timeout_s=_SILENT_S)
            reply = child.receive_reply(timeout_s=_SILENT_S)
        except (ChildLost, ChildRefused) as why:
            self._supervisor.close(within_s=_END_S)
            raise InputError(f"made LibreOffice fail: {why}") from why
        finally:
            add_seconds(time.monotonic() - start)
        return _decode(reply)


def convert(data: bytes, *, suffix: str, target: str) -> bytes:
    """Return a document in another format, such as "odt"; `suffix` is that of its own.

    Raises `InputError` without LibreOffice, and for a document that it cannot convert.
    """
    program = find_program()
    if not program:
        raise InputError(
            f"is read by LibreOffice, which is not on PATH: install it, "
            f"or save the file in another format than {suffix}"
        )
    return _converter(program).convert(data, suffix=suffix, target=target)


@cache
def _converter(program: str) -> _Converter:
    return _Converter(program)


def _decode(reply: Message) -> bytes:
    match reply:
        case {"op": "converted", "data": str(data)}:
            return base64.b64decode(data)
    raise InputError("cannot be converted by LibreOffice: it is damaged or has a password")
