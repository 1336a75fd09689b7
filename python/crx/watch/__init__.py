"""Watching of folders: an index follows what changes in them."""

from crx.watch.background import BackgroundEmbedder
from crx.watch.watcher import Visit, Watcher

__all__ = ["BackgroundEmbedder", "Visit", "Watcher"]
