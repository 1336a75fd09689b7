"""Models that were made or tried on this machine, by backend and fingerprint.

A fingerprint holds the hash of each file. A graph may be harmless in one backend and not in
another.
"""

from __future__ import annotations

from crx._models.card import ModelCard
from crx._models.record import add_to_record, is_recorded

# The module of the backend that a converted model is compared in.
ONNX = "crx._backends.onnx"
_RECORD = "tried-models"


def is_tried(card: ModelCard, *, backend: str) -> bool:
    """Return whether a model is in the record of a backend, the name of its module."""
    return is_recorded(_RECORD, _line(card, backend))


def record_tried(card: ModelCard, *, backend: str) -> None:
    """Record that a backend ran a model."""
    add_to_record(_RECORD, _line(card, backend))


def _line(card: ModelCard, backend: str) -> str:
    return f"{backend} {card.kind} {card.fingerprint}"
