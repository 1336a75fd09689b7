"""A search of the command line, as it is sent to a server through a Unix socket."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from crx.types import Note
from crx_serve.requests import SearchQuery

# Paths below it are answered over the Unix socket alone.
LOCAL_PREFIX = "/local/"
SEARCH_PATH = f"{LOCAL_PREFIX}search"


class LocalQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search of an index folder, and all besides that its answer depends on.

    `home` is the home folder of the user, and `user_file` the settings file, which may exist or
    not; `settings` are those in effect, by name, without defaults that are for new indexes. The
    server answers if they are its own.
    """

    installation: str
    home: str
    user_file: str
    offline: bool
    settings: dict[str, Any]
    index: str
    query: SearchQuery


def note_parts(value: object) -> tuple[str, str]:
    """Return a note of a result as it is sent: its text and its kind."""
    if not isinstance(value, Note):
        raise NotImplementedError  # how a hook of msgspec refuses a type
    return str(value), value.kind


def note_of(_: type, parts: Any) -> Note:
    """Return the note of a result that was sent as parts."""
    return Note(*parts)
