"""The models on this machine: which are here, and how one is added, checked and removed."""

from crx.models.card import ModelCard
from crx.models.store import add, available, find, remove, verify

__all__ = ["ModelCard", "add", "available", "find", "remove", "verify"]
