"""Plugins for crx: a reader for BibTeX, an embedder by letter triples, contexts by openings."""
