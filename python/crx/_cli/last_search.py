"""The passages that the last search printed on a terminal, by their numbers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from crx._cli.links import answering_line
from crx.config.files import user_file, write_private
from crx.errors import UsageError
from crx.plugins import is_engine_address
from crx.types import Passage


class _LastHit(NamedTuple):
    """A passage: where its index is, the URI of its document, and its line if that has lines.

    `text` is that of its best chunk.
    """

    location: str
    uri: str
    line: int | None
    text: str = ""


def remember_hits(passages: Sequence[Passage], *, indexes: Sequence[str]) -> None:
    """Keep where the printed passages are, each with its index, for the user alone."""
    hits = [
        _LastHit(
            index if is_engine_address(index) else os.path.abspath(index),
            each.uri,
            answering_line(each),
            each.hits[0].text,
        )
        for each, index in zip(passages, indexes, strict=True)
    ]
    # A search is none the worse if nothing can be kept of it.
    with contextlib.suppress(OSError):
        write_private(_file(), orjson.dumps(hits, default=list))


def find_hit(number: int) -> _LastHit:
    """Return the passage that was printed with a number; raises `UsageError` without one."""
    there = "there was none"
    hits: list[_LastHit] = []
    with contextlib.suppress(OSError, ValueError, TypeError):
        hits = [_LastHit(*each) for each in orjson.loads(_file().read_bytes())]
        there = f"it printed {len(hits) or 'none'}"
    if not 0 < number <= len(hits):
        raise UsageError(f"{number}: no passage of the last search on a terminal; {there}")
    return hits[number - 1]


def _file() -> Path:
    return user_file(os.environ).with_name("last-search.json")
