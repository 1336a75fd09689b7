"""Plugins for crx: a reader for BibTeX, an embedder, contexts by openings, an engine in memory."""
