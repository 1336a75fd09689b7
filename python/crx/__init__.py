"""Contextual retrieval over your own documents, on your own machine."""
