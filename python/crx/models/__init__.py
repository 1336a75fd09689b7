"""The models on this machine: which are here, and how one is added, checked and removed."""

from crx.models.card import ModelCard
from crx.models.store import add, available, find, folders, remove, verify

__all__ = ["ModelCard", "add", "available", "find", "folders", "remove", "verify"]
