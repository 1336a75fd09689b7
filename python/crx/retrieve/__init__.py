"""Queries to hits and passages: retrieve, fuse, rerank, widen."""
