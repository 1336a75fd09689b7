"""A retriever for Haystack, installed by `pip install "crx[haystack]"`."""

from haystack_integrations.components.retrievers.crx.retriever import CrxRetriever

__all__ = ["CrxRetriever"]
