"""Encoding of (query, text) pairs into the windows that a cross-encoder reads.

The tokenizer's own template adds the special tokens. Neither the query nor the text is truncated: a
text that does not fit into the model's window beside the query is read in several windows of equal
length, and its score is that of its best window (MaxP; Dai and Callan 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from crx._models.tokenizer import Ids, load_plain_tokenizer
from crx.errors import ModelError

# A query must leave at least 1 / _MIN_TEXT_SHARE of the window to the text.
_MIN_TEXT_SHARE = 4


@dataclass(frozen=True, slots=True)
class _PairWindow:
    """One input of a cross-encoder: (length,) token ids, and the segment id of each token."""

    ids: Ids
    segment_ids: Ids


class PairEncoder:
    """The tokenizer of a cross-encoder whose window holds `sequence` tokens."""

    def __init__(self, source: Path | str, *, sequence: int) -> None:
        """Load a tokenizer; `ModelError` if it has no template for pairs."""
        self._tokenizer = load_plain_tokenizer(source)
        self._sample = self._encode("a")
        self._sequence = sequence
        if self._tokenizer.num_special_tokens_to_add(is_pair=True) < 1 or not self._sample.ids:
            raise ModelError(
                "the tokenizer has no template for a query and a text; "
                "save the model with its fast tokenizer"
            )

    def encode_windows(self, query: str, texts: Sequence[str]) -> list[list[_PairWindow]]:
        """Return the windows of each text, at least one, that together hold the whole text.

        Raises `ModelError` for a query that leaves too little room for a text.
        """
        before, after, segment_id = self._split_template(query)
        room = self._sequence - len(before.ids) - len(after.ids)
        if room < self._sequence // _MIN_TEXT_SHARE:
            raise ModelError(
                f"the query takes {self._sequence - room} of the {self._sequence} tokens that "
                "the reranker reads together with a text; shorten the query"
            )
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [
            [
                _insert_text(before, part, after, segment_id)
                for part in _split_evenly(encoding.ids, room)
            ]
            for encoding in encodings
        ]

    def _split_template(self, query: str) -> tuple[_PairWindow, _PairWindow, int]:
        """Return the tokens before and after the text, query included, and the text's segment."""
        pair = self._tokenizer.post_process(self._encode(query), self._sample)
        positions = [at for at, part in enumerate(pair.sequence_ids) if part == 1]
        ids, segment_ids = (np.array(each, np.int64) for each in (pair.ids, pair.type_ids))
        first, end = positions[0], positions[-1] + 1
        before = _PairWindow(ids[:first], segment_ids[:first])
        return before, _PairWindow(ids[end:], segment_ids[end:]), int(segment_ids[first])

    def _encode(self, text: str) -> tokenizers.Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)


def score_by_best_window(
    logits: NDArray[np.float32], windows: Sequence[Sequence[_PairWindow]]
) -> NDArray[np.float32]:
    """Return the (n,) float32 scores in (0, 1) of n texts, given the logits of all windows.

    A text's score is the sigmoid of the largest logit of its windows.
    """
    if not windows:
        return np.empty(0, np.float32)
    starts = np.cumsum([0, *(len(each) for each in windows[:-1])])
    best = np.maximum.reduceat(logits.astype(np.float64), starts)
    scores = (1 / (1 + np.exp(-np.clip(best, -80, 80)))).astype(np.float32)
    # Single precision rounds the sigmoid of a logit above 17 to 1, which is outside of (0, 1).
    below_one = np.nextafter(np.float32(1), np.float32(0))
    capped: NDArray[np.float32] = np.minimum(scores, below_one)
    return capped


def relevance_logits(output: NDArray[np.generic], *, name: str) -> NDArray[np.float32]:
    """Return one logit per pair, (n,) float32, from a model's output.

    The output has one label, (n,) or (n, 1), or two, (n, 2), of which the second means "relevant":
    then the logit is the second minus the first. Raises `ModelError` for any other shape.
    """
    logits: NDArray[np.float32] = np.asarray(output, np.float32)
    if logits.ndim == 2 and logits.shape[1] == 2:
        difference: NDArray[np.float32] = logits[:, 1] - logits[:, 0]
        return difference
    if logits.ndim == 1 or (logits.ndim == 2 and logits.shape[1] == 1):
        return logits.reshape(-1)
    shape = ", ".join(map(str, logits.shape))
    raise ModelError(
        f"{name}: the output has the shape ({shape}), not one or two labels per pair; "
        "not a reranker"
    )


def _split_evenly(ids: Sequence[int], max_tokens: int) -> list[Ids]:
    """Split token ids into the fewest parts of equal length with at most `max_tokens` each."""
    whole = np.array(ids, np.int64)
    count = max(1, -(-len(whole) // max_tokens))
    edges = [len(whole) * at // count for at in range(count + 1)]
    return [whole[start:end] for start, end in pairwise(edges)]


def _insert_text(
    before: _PairWindow, text: Ids, after: _PairWindow, segment_id: int
) -> _PairWindow:
    segment_ids = np.full_like(text, segment_id)
    return _PairWindow(
        np.concatenate([before.ids, text, after.ids]),
        np.concatenate([before.segment_ids, segment_ids, after.segment_ids]),
    )
