"""What the embedder reads in front of a chunk."""

from __future__ import annotations

from crx import _native
from crx.protocols import Embedder


def embedding_prefix(outline: str, context: str) -> str:
    """Return what the embedder reads in front of a chunk: the outline's first line, the context.

    The first line names the document and the section. The names on the second are for BM25 only:
    they would fill the embedder's window, and change with every edit of the document.
    """
    head = outline.partition("\n")[0]
    return "\n".join(part for part in (head, context) if part)


def vector_key(embedder: Embedder, prefix: str, text: str) -> bytes:
    """Return the key under which a text's vector with a prefix is stored, b"" if it has none."""
    if not embedder.dimensions:
        return b""
    return _native.digest(embedder.fingerprint.encode(), prefix.encode(), text.encode())
