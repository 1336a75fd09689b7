"""Embedding of situated texts; a text longer than the model's window is embedded in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crx.errors import ModelError
from crx.protocols import Embedder


@dataclass(frozen=True, slots=True)
class Situated:
    """A text, and the prefix that situates it; either may be empty."""

    before: str
    text: str


def embedding_prefix(outline: str, context: str) -> str:
    """Return what the embedder reads in front of a chunk: the outline's first line, the context.

    The first line names the document and the section. The names on the second are for BM25 only:
    they would fill the embedder's window, and change with every edit of the document.
    """
    head = outline.partition("\n")[0]
    return "\n".join(part for part in (head, context) if part)


def embed_situated(
    embedder: Embedder, texts: Sequence[Situated]
) -> tuple[NDArray[np.float32], int]:
    """Return (n, d) float32 unit rows, and how many of the texts took more than one window.

    Nothing is cut off: a text that does not fit into the embedder's window together with its
    prefix is embedded in several windows of equal length, each with the prefix, and its vector is
    their mean, normalized. Raises `ModelError` if the rows of an embedder have another shape or
    type than `Embedder.embed` promises, or are not finite.
    """
    windows = [_windows(embedder, text) for text in texts]
    rows = _embed_checked(embedder, [window for each in windows for window in each])
    starts = np.cumsum([0, *(len(each) for each in windows)])
    sums = np.add.reduceat(rows, starts[:-1], axis=0) if len(texts) else rows
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    several = sum(len(each) > 1 for each in windows)
    means = np.divide(sums, lengths, out=sums, where=lengths > 0)
    single = np.array([len(each) == 1 for each in windows], dtype=bool)
    means[single] = rows[starts[:-1][single]]
    return means, several


def _windows(embedder: Embedder, situated: Situated) -> list[str]:
    """Return the texts that together hold a situated text, each within the embedder's window."""
    whole = "\n".join(part for part in (situated.before, situated.text) if part)
    # A token takes a code point or more, so a short text need not be counted.
    if len(whole) <= embedder.max_tokens or _tokens(embedder, whole) <= embedder.max_tokens:
        return [whole]
    starts = embedder.token_starts(situated.text)
    before = situated.before
    room = embedder.max_tokens - _tokens(embedder, before)
    if room < embedder.max_tokens // 2:
        # The prefix would fill the window: it is read as part of the text.
        before, starts, room = "", embedder.token_starts(whole), embedder.max_tokens
    text = situated.text if before else whole
    count = -(-len(starts) // room)
    edges = [int(starts[len(starts) * n // count]) for n in range(1, count)]
    pieces = [text[a:b] for a, b in zip([0, *edges], [*edges, len(text)], strict=True)]
    return ["\n".join(part for part in (before, piece) if part) for piece in pieces]


def _tokens(embedder: Embedder, text: str) -> int:
    return len(embedder.token_starts(text))


def _embed_checked(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    vectors = embedder.embed(texts)
    wanted = (len(texts), embedder.dimensions)
    if vectors.shape != wanted or vectors.dtype != np.float32:
        raise ModelError(
            f"{embedder.fingerprint}: gave {vectors.dtype} {vectors.shape}, not float32 {wanted}"
        )
    if not np.isfinite(vectors).all():
        raise ModelError(f"{embedder.fingerprint}: gave a vector that is not finite")
    return vectors
