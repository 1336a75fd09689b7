"""Models that were made or tried on this machine, by their fingerprints, which hold all hashes."""

from __future__ import annotations

from crx.models.card import ModelCard
from crx.models.record import add_to_record, is_recorded

_RECORD = "tried-models"


def is_tried(card: ModelCard) -> bool:
    """Return whether a model is in the record."""
    return is_recorded(_RECORD, _line(card))


def record_tried(card: ModelCard) -> None:
    """Record a model."""
    add_to_record(_RECORD, _line(card))


def _line(card: ModelCard) -> str:
    return f"{card.kind} {card.fingerprint}"
