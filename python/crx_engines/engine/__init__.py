"""Engines: where the chunks, postings and vectors of an index are kept and searched.

The folder on disk is one engine. Others are found by the schemes of addresses (see `protocol`).
Splitting, contexts, analysis, the weights of BM25, fusion, reranking and widening are done by crx
with any of them.
"""
