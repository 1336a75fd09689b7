"""Embedding of situated texts; a text longer than the model's window is embedded in parts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crx.errors import ModelError
from crx.protocols import Embedder

# The weight of a prefix's vector against that of the text.
PREFIX_WEIGHT = 0.7


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


class SituatedEmbedder:
    """Embeds situated texts, and keeps the vectors of the texts and prefixes that it embedded last.

    The vector of a situated text is that of the text plus `PREFIX_WEIGHT` times that of its
    prefix, normalized. Embedded as one text, a prefix that names the document fills a good part of
    what the model reads, and makes the chunks of one document similar. It is also embedded once for
    all chunks of a section, so that the model reads fewer tokens.
    """

    def __init__(self, embedder: Embedder, *, max_kept: int = 4096) -> None:
        """Keep the vectors of at most `max_kept` texts and prefixes."""
        self._embedder = embedder
        self._max_kept = max_kept
        self._kept: OrderedDict[str, _Embedded] = OrderedDict()

    def embed(self, texts: Sequence[Situated]) -> tuple[NDArray[np.float32], int]:
        """Return (n, d) float32 unit rows, and how many of the texts took more than one window.

        Nothing is cut off: a text that does not fit into the embedder's window is embedded in
        several windows of equal length, and its vector is their mean, normalized. Raises
        `ModelError` if the rows of an embedder have another shape or type than `Embedder.embed`
        promises, or are not finite.
        """
        prefixes = {each.before: None for each in texts if each.before}
        parts = self._embed_parts({**{each.text: None for each in texts}, **prefixes})
        rows = np.empty((len(texts), self._embedder.dimensions), np.float32)
        for row, each in zip(rows, texts, strict=True):
            row[:] = parts[each.text].row
            if each.before:
                row += PREFIX_WEIGHT * parts[each.before].row
                row /= np.linalg.norm(row) or 1
        return rows, sum(parts[each.text].windows > 1 for each in texts)

    def _embed_parts(self, wanted: Collection[str]) -> dict[str, _Embedded]:
        found = {text: self._kept[text] for text in wanted if text in self._kept}
        missing = [text for text in wanted if text not in found]
        found |= zip(missing, _embed_whole(self._embedder, missing), strict=True)
        for text, each in found.items():
            self._kept[text] = each
            self._kept.move_to_end(text)
        while len(self._kept) > self._max_kept:
            self._kept.popitem(last=False)
        return found


def embed_situated(
    embedder: Embedder, texts: Sequence[Situated]
) -> tuple[NDArray[np.float32], int]:
    """Return the rows of situated texts; see `SituatedEmbedder.embed`."""
    return SituatedEmbedder(embedder).embed(texts)


@dataclass(frozen=True, slots=True)
class _Embedded:
    """A unit row, and the number of windows that it is the mean of."""

    row: NDArray[np.float32]
    windows: int


def _embed_whole(embedder: Embedder, texts: Sequence[str]) -> list[_Embedded]:
    """Return the row of each text, however long."""
    windows = [_windows(embedder, text) for text in texts]
    rows = _embed_checked(embedder, [window for each in windows for window in each])
    ends = np.cumsum([len(each) for each in windows])
    parts = np.split(rows, ends[:-1]) if texts else []
    return [_Embedded(_mean(part), len(part)) for part in parts]


def _mean(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean of unit rows as a unit row; of a single row, itself."""
    total: NDArray[np.float32] = rows.sum(axis=0)
    if len(rows) > 1:
        total /= np.linalg.norm(total) or 1
    return total


def _windows(embedder: Embedder, text: str) -> list[str]:
    """Return the texts that together hold a text, each within the embedder's window."""
    # A token takes a code point or more, so a short text need not be counted.
    if len(text) <= embedder.max_tokens:
        return [text]
    starts = embedder.token_starts(text)
    if len(starts) <= embedder.max_tokens:
        return [text]
    count = -(-len(starts) // embedder.max_tokens)
    edges = [int(starts[len(starts) * n // count]) for n in range(1, count)]
    return [text[a:b] for a, b in zip([0, *edges], [*edges, len(text)], strict=True)]


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
