"""Searches answered by a running server of the same index, so that no model is loaded here.

Whatever is wrong with the server (it is gone, is of another version, has other settings), the
command searches by itself. This module is imported by every search, so it imports little.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from crx.config import Settings
from crx.serve.socket_places import installation, is_own, socket_places
from crx.types import Anchor, Hit, Passage, Result, Stage

# Seconds to wait for an answer; a search that takes longer is done again by the command.
ANSWER_S = 60.0


def search_warm(
    index: str | os.PathLike[str], query: Mapping[str, object], *, settings: Settings
) -> Result | None:
    """Return what a running server of an index finds; None if there is none, or not the same."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    request = {
        "path": os.path.realpath(index),
        "installation": installation(),
        "settings": asdict(settings),
        "query": {name: value for name, value in query.items() if value is not None},
    }
    try:
        body = json.dumps(request).encode()
    except (TypeError, ValueError):
        return None
    for place in socket_places(index):
        if is_own(place):
            try:
                status, answer = _post(place, "/local/search", body)
            except OSError:
                continue
            if status == 200:
                return _read_result(json.loads(answer))
    return None


def _post(place: str, path: str, body: bytes) -> tuple[int, bytes]:
    """Return the status and the body of an answer; raises `OSError` if there is none."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_S)
        connection.connect(place)
        connection.sendall(head.encode() + body)
        received = bytearray()
        while data := connection.recv(1 << 18):
            received += data
    headers, end, answer = bytes(received).partition(b"\r\n\r\n")
    length = _length(headers)
    if not end or len(answer) != length:
        raise OSError("the answer is cut off")
    return int(headers.split(maxsplit=2)[1]), answer


def _length(headers: bytes) -> int:
    for line in headers.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return -1


def _read_result(answer: Mapping[str, Any]) -> Result:
    passages = tuple(map(_read_passage, answer["passages"]))
    hits = tuple(hit for passage in passages for hit in passage.hits)
    return Result(passages, hits, tuple(answer["notes"]), answer["timings_ms"])


def _read_passage(given: dict[str, Any]) -> Passage:
    given["hits"] = tuple(map(_read_hit, given["hits"]))
    given["headings"] = tuple(given["headings"])
    for name in ("lines", "pages"):
        given[name] = tuple(given[name]) if given[name] else None
    given["anchor"] = Anchor(**given["anchor"]) if given["anchor"] else None
    return Passage(**given)


def _read_hit(given: dict[str, Any]) -> Hit:
    given["stages"] = {name: Stage(**stage) for name, stage in given["stages"].items()}
    return Hit(**given)
