"""Values as JSON, those of crx that are no builtins among them."""

from __future__ import annotations

import msgspec

from crx.types import Note


def encode_json(value: object) -> bytes:
    """Return a value as JSON; a note is its text."""
    return msgspec.json.encode(value, enc_hook=_as_builtin)


def _as_builtin(value: object) -> object:
    if isinstance(value, Note):
        return str(value)
    raise NotImplementedError  # how a hook of msgspec refuses a type
