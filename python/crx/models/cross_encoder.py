"""A query and a text to what a cross-encoder reads, window by window.

The tokenizer's own file says what stands around the two. The query is never cut and neither is the
text: one that the model's window cannot hold beside the query is read in several windows of equal
length, and scores as its best one does (MaxP; Dai and Callan 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from crx.errors import ModelError
from crx.models.tokenizer import Ids, load_tokenizer

# A query that leaves less than this share of the window to the text is refused.
_LEAST_ROOM = 4


@dataclass(frozen=True, slots=True)
class Pair:
    """What the model reads at once: (length,) ids, and the segment of each."""

    ids: Ids
    segments: Ids


class PairEncoder:
    """The tokenizer of a cross-encoder that reads `sequence` tokens at once."""

    def __init__(self, source: Path | str, *, sequence: int) -> None:
        """Load a tokenizer; `ModelError` where it has no format for pairs."""
        self._tokenizer = load_tokenizer(source)
        self._sample = self._encode("a")
        self._sequence = sequence
        if self._tokenizer.num_special_tokens_to_add(is_pair=True) < 1 or not self._sample.ids:
            raise ModelError(
                "the tokenizer has no format for a query and a text; "
                "save the model with its fast tokenizer"
            )

    def windows(self, query: str, texts: Sequence[str]) -> list[list[Pair]]:
        """Return what to read for each text: one window, or several that together hold it.

        Raises `ModelError` for a query that leaves too little room for a text.
        """
        before, after, segment = self._frame(query)
        room = self._sequence - len(before.ids) - len(after.ids)
        if room < self._sequence // _LEAST_ROOM:
            raise ModelError(
                f"the query takes {self._sequence - room} of the {self._sequence} tokens that "
                "the reranker reads, with the text; ask a shorter one"
            )
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [
            [_framed(before, piece, after, segment) for piece in _pieces(encoding.ids, room)]
            for encoding in encodings
        ]

    def _frame(self, query: str) -> tuple[Pair, Pair, int]:
        """Return what stands before and after a text, the query included, and its segment."""
        pair = self._tokenizer.post_process(self._encode(query), self._sample)
        places = [at for at, part in enumerate(pair.sequence_ids) if part == 1]
        ids, segments = (np.array(each, np.int64) for each in (pair.ids, pair.type_ids))
        first, end = places[0], places[-1] + 1
        before = Pair(ids[:first], segments[:first])
        return before, Pair(ids[end:], segments[end:]), int(segments[first])

    def _encode(self, text: str) -> tokenizers.Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)


def best_windows(
    logits: NDArray[np.float32], windows: Sequence[Sequence[Pair]]
) -> NDArray[np.float32]:
    """Return (n,) float32 scores in (0, 1) of n texts from the logits of all their windows."""
    if not windows:
        return np.empty(0, np.float32)
    starts = np.cumsum([0, *(len(each) for each in windows[:-1])])
    best = np.maximum.reduceat(logits.astype(np.float64), starts)
    scores = (1 / (1 + np.exp(-np.clip(best, -80, 80)))).astype(np.float32)
    # Single precision rounds to 1 above a logit of 17: it stays below.
    below = np.nextafter(np.float32(1), np.float32(0))
    capped: NDArray[np.float32] = np.minimum(scores, below)
    return capped


def one_logit(output: NDArray[np.generic], *, name: str) -> NDArray[np.float32]:
    """Return the (n,) logits of a model's output of one label, (n,) or (n, 1), or of two, (n, 2).

    Of two labels, the second says "relevant". Raises `ModelError` for any other shape.
    """
    logits: NDArray[np.float32] = np.asarray(output, np.float32)
    if logits.ndim == 2 and logits.shape[1] == 2:
        difference: NDArray[np.float32] = logits[:, 1] - logits[:, 0]
        return difference
    if logits.ndim == 1 or (logits.ndim == 2 and logits.shape[1] == 1):
        return logits.reshape(-1)
    shape = ", ".join(map(str, logits.shape))
    raise ModelError(f"{name}: gives ({shape}), not one or two labels a pair; not a reranker")


def _pieces(ids: Sequence[int], room: int) -> list[Ids]:
    whole = np.array(ids, np.int64)
    count = max(1, -(-len(whole) // room))
    edges = [len(whole) * at // count for at in range(count + 1)]
    return [whole[a:b] for a, b in pairwise(edges)]


def _framed(before: Pair, text: Ids, after: Pair, segment: int) -> Pair:
    return Pair(
        np.concatenate([before.ids, text, after.ids]),
        np.concatenate([before.segments, np.full_like(text, segment), after.segments]),
    )
