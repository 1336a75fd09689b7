"""Engines on databases and clusters, which `crx` finds by entry points and does not import."""
