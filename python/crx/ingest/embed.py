"""Embedding of situated texts; a text longer than the model's window is embedded in parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx._lru_cache import LruCache
from crx.errors import ModelError
from crx.protocols import Embedder

# The weight of the vector of a prefix against that of source code.
PREFIX_WEIGHT = 0.7


class Situated(NamedTuple):
    """A text, and the prefix that situates it; either may be empty.

    `tokens` is how many of the embedder's tokens the text had as part of its document, 0 if that is
    not known.
    """

    before: str
    text: str
    tokens: int = 0


class SituatedEmbedder:
    """Embeds situated texts, and keeps the vectors of what it embedded last.

    Prose is embedded together with its prefix. The vector of source code is that of the code plus
    `PREFIX_WEIGHT` times that of its prefix, normalized: in one text with them, the names of the
    file's definitions make the chunks of the file alike. A prefix that is embedded by itself is
    embedded once for all chunks that share it.
    """

    def __init__(self, embedder: Embedder, *, max_kept: int = 4096) -> None:
        """Keep the vectors of at most `max_kept` texts."""
        self._embedder = embedder
        # By the prefix and the text.
        self._kept: LruCache[tuple[str, str], _Embedded] = LruCache(max_entries=max_kept)
        self._prefix_tokens = lru_cache(maxsize=256)(partial(_tokens, embedder))

    def embed(self, texts: Sequence[Situated]) -> tuple[NDArray[np.float32], int]:
        """Return (n, d) float32 unit rows, and how many of the texts took more than one window.

        Nothing is cut off: a text that does not fit into the embedder's window together with its
        prefix is embedded in several windows of equal length, each with the prefix, and its vector
        is their mean, normalized. Raises `ModelError` if the rows of an embedder have another shape
        or type than `Embedder.embed` promises, or are not finite.
        """
        parts = [_parts(each) for each in texts]
        wanted = {part[:2]: part for each in parts for part in each}
        found = self._kept.find_or_make(
            wanted, lambda missing: self._embed_whole([wanted[key] for key in missing])
        )
        rows = np.empty((len(texts), self._embedder.dimensions), np.float32)
        for row, (text, *prefix) in zip(rows, parts, strict=True):
            row[:] = found[text[:2]].row
            if prefix:
                row += PREFIX_WEIGHT * found[prefix[0][:2]].row
                row /= np.linalg.norm(row) or 1
        return rows, sum(found[text[:2]].windows > 1 for text, *_ in parts)

    def _embed_whole(self, texts: Sequence[Situated]) -> list[_Embedded]:
        """Return the row of each text, however long."""
        windows = [
            [_joined(each.before, each.text)]
            if self._max_tokens(each) <= self._embedder.max_tokens
            else _windows(self._embedder, each)
            for each in texts
        ]
        rows = _embed_checked(self._embedder, [window for each in windows for window in each])
        if len(rows) == len(texts):
            # Copies: an embedder may fill the same array again.
            return [_Embedded(row, 1) for row in rows.copy()]
        ends = np.cumsum([len(each) for each in windows])
        parts = np.split(rows, ends[:-1])
        return [_Embedded(_mean(part), len(part)) for part in parts]

    def _max_tokens(self, situated: Situated) -> float:
        """Return the most tokens that a text can have with its prefix, without counting the text.

        Cutting it out of its document changes its first and its last word only, and those have no
        more tokens than characters.
        """
        words = situated.text.split(maxsplit=1)
        if not situated.tokens or not words:
            return math.inf
        edges = len(words[0]) + len(situated.text.rsplit(maxsplit=1)[-1])
        return self._prefix_tokens(situated.before) + situated.tokens + edges


def _parts(situated: Situated) -> tuple[Situated, ...]:
    """Return what is embedded of a situated text: itself, or source code and its prefix apart."""
    if situated.before and _native.is_source_code(situated.text):
        return Situated("", situated.text, situated.tokens), Situated("", situated.before)
    return (situated,)


def embed_situated(
    embedder: Embedder, texts: Sequence[Situated]
) -> tuple[NDArray[np.float32], int]:
    """Return the rows of situated texts; see `SituatedEmbedder.embed`."""
    return SituatedEmbedder(embedder).embed(texts)


class _Embedded(NamedTuple):
    """A unit row, and the number of windows that it is the mean of."""

    row: NDArray[np.float32]
    windows: int


def _mean(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean of unit rows as a unit row; of a single row, itself."""
    total: NDArray[np.float32] = rows.sum(axis=0)
    if len(rows) > 1:
        total /= np.linalg.norm(total) or 1
    return total


def _windows(embedder: Embedder, situated: Situated) -> list[str]:
    """Return the texts that together hold a situated text, each within the embedder's window."""
    whole = _joined(situated.before, situated.text)
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
    return [_joined(before, piece) for piece in pieces]


def _joined(before: str, text: str) -> str:
    return "\n".join(part for part in (before, text) if part)


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
