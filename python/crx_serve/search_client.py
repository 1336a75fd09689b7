"""Client of a running server that answers a search of the command line.

The server searches, and this process prints the result. Whatever is wrong with the server (it is
gone, is of another version, has other settings), the command searches by itself.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from crx._index.socket_paths import installation
from crx.config import Resolved, is_offline, settings_asked_for, user_file
from crx.types import Result
from crx_serve.local_query import SEARCH_PATH, LocalQuery, note_of
from crx_serve.requests import SearchQuery

# Seconds to wait for an answer; a search that takes longer is done again by the command.
ANSWER_S = 60.0


def ask_server(
    sockets: Sequence[str], query: Mapping[str, Any], *, index: Path, resolved: Resolved
) -> Result | None:
    """Return the answer of the first server that gives one, None if none does.

    `query` has the fields of a `SearchQuery`.
    """
    given = LocalQuery(
        installation=installation(),
        home=os.path.expanduser("~"),
        user_file=str(user_file(os.environ)),
        offline=is_offline(),
        settings=settings_asked_for(resolved),
        index=os.path.abspath(index),
        query=SearchQuery(**query),
    )
    try:
        body = msgspec.json.encode(given)
    except UnicodeEncodeError:  # a text that is not UTF-8
        return None
    for path in sockets:
        try:
            status, answer = _post(path, body)
            if status == 200:
                return msgspec.json.decode(answer, type=Result, dec_hook=note_of)
        except (OSError, msgspec.DecodeError):
            continue
    return None


def _post(path: str, body: bytes) -> tuple[int, bytes]:
    """Return the status and the body of an answer; raises `OSError` if there is none."""
    head = (
        f"POST {SEARCH_PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_S)
        connection.connect(path)
        connection.sendall(head.encode() + body)
        received = bytearray()
        while data := connection.recv(1 << 18):
            received += data
    headers, end, answer = bytes(received).partition(b"\r\n\r\n")
    if not end or len(answer) != _length(headers):
        raise OSError("the answer is cut off")
    return int(headers.split(maxsplit=2)[1]), answer


def _length(headers: bytes) -> int:
    for line in headers.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return -1
