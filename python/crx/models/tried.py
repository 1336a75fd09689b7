"""Models that were made or tried on this machine, by backend and fingerprint.

A fingerprint holds the hash of each file. A graph may be harmless in one backend and not in
another. The record is beside the user's settings, so that no model from elsewhere brings an entry
of its own.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from crx.config import user_file
from crx.models.card import ModelCard

# The module of the backend that a converted model is compared in.
ONNX = "crx.backends.onnx"
# More than anybody has models; a longer record is begun anew.
_MOST_BYTES = 1 << 20


def is_tried(card: ModelCard, *, backend: str) -> bool:
    """Return whether a model is in the record of a backend, the name of its module."""
    try:
        return _line(card, backend) in _record().read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return False


def record_tried(card: ModelCard, *, backend: str) -> None:
    """Record that a backend ran a model; if that is not possible, each process tries it again."""
    path = _record()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        is_long = path.exists() and path.stat().st_size > _MOST_BYTES
        # One short write: lines of two processes do not mix.
        with path.open("w" if is_long else "a", encoding="utf-8") as file:
            file.write(f"{_line(card, backend)}\n")


def _line(card: ModelCard, backend: str) -> str:
    return f"{backend} {card.kind} {card.fingerprint}"


def _record() -> Path:
    return user_file(os.environ).with_name("tried-models")
