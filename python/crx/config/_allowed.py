"""Acts outside an index folder that the user has allowed: a service to send to, a folder to read.

An index may come with a clone or a download, and it names its embedder, a file of contexts and the
folders that are indexed again. What of it lies outside the folder that holds the index is an act: a
line of text, such as `read /home/ann/notes`. An act is in effect only if it is on record for the
location of the index. The user puts it there by asking for it (`--embedder openai:...`, `crx index
FOLDER`), or with `crx trust INDEX`. The records are beside the user's settings file, out of reach
of what is indexed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from crx.config._trust import record_of
from crx.errors import NoRoom, Untrusted


def _is_allowed(location: str, act: str, *, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the user has allowed an act to the index at a full path or a URL."""
    return _record(location, act, environ).is_file()


def allow(location: str, acts: Iterable[str], *, environ: Mapping[str, str] = os.environ) -> None:
    """Put acts of the index at a location on record; raises `NoRoom` if they cannot be written."""
    for act in acts:
        record = _record(location, act, environ)
        try:
            record.parent.mkdir(parents=True, exist_ok=True)
            record.write_text(f"{location}: {act}\n", encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise NoRoom(f"{record}: cannot be written: {reason}") from error


def allow_copy(source: str, target: str, acts: Iterable[str]) -> None:
    """Allow a copy of an index, with another path, those of its acts that the index is allowed."""
    allow(target, [act for act in acts if _is_allowed(source, act)])


def forbid(location: str, acts: Iterable[str], *, environ: Mapping[str, str] = os.environ) -> bool:
    """Take acts off the record; return whether one was on it."""
    records = [_record(location, act, environ) for act in acts]
    were_there = any(record.is_file() for record in records)
    for record in records:
        record.unlink(missing_ok=True)
    return were_there


def require_allowed(
    location: str, acts: Iterable[str], *, environ: Mapping[str, str] = os.environ
) -> None:
    """Raise `Untrusted` with the first act that is not on record."""
    for act in acts:
        if not _is_allowed(location, act, environ=environ):
            raise Untrusted(
                f"{location}: asks to {act}, which you have not allowed it: an index from "
                f'elsewhere acts on nothing outside its folder; "crx trust {location}" allows it '
                "if the index is your own"
            )


def _record(location: str, act: str, environ: Mapping[str, str]) -> Path:
    where = os.path.realpath(location) if os.path.isabs(location) else location
    return record_of(b"act of an index", os.fsencode(where), os.fsencode(act), environ=environ)
