"""Models that were made or tried on this machine, by their fingerprints.

A fingerprint holds the hash of each file. The record is beside the user's settings, so that no
model from elsewhere brings an entry of its own.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from crx.config import user_file
from crx.models.card import ModelCard

# More than anybody has models; a longer record is begun anew.
_MOST_BYTES = 1 << 20


def is_tried(card: ModelCard) -> bool:
    """Return whether a model is in the record."""
    try:
        return _line(card) in _record().read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return False


def record_tried(card: ModelCard) -> None:
    """Record a model; if that is not possible, each process tries it again."""
    path = _record()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        is_long = path.exists() and path.stat().st_size > _MOST_BYTES
        # One short write: lines of two processes do not mix.
        with path.open("w" if is_long else "a", encoding="utf-8") as file:
            file.write(f"{_line(card)}\n")


def _line(card: ModelCard) -> str:
    return f"{card.kind} {card.fingerprint}"


def _record() -> Path:
    return user_file(os.environ).with_name("tried-models")
