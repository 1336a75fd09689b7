"""Installed models: how they are listed, found, added, verified and removed."""

from crx.models.card import ModelCard
from crx.models.store import (
    add_model,
    find_model,
    list_models,
    read_cards,
    remove_model,
    verify_model,
)

__all__ = [
    "ModelCard",
    "add_model",
    "find_model",
    "list_models",
    "read_cards",
    "remove_model",
    "verify_model",
]
