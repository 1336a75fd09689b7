"""Watching of folders: an index follows what changes in them."""

from crx_serve.watch.background import BackgroundEmbedder
from crx_serve.watch.watcher import Visit, Watcher

__all__ = ["BackgroundEmbedder", "Visit", "Watcher"]
