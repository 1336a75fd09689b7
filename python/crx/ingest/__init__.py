"""Indexing of documents: discover, read, split, embed, write."""
