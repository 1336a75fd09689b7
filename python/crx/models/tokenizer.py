"""Texts to token ids, and where the tokens of a text start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from crx.errors import ModelError

# Code points encoded at once by `starts`: an encoding takes some 200 bytes a token.
_SLICE = 1 << 16

Ids = NDArray[np.int64]


class Tokens:
    """The tokenizer of a model that reads `sequence` tokens at once, special tokens included."""

    def __init__(self, source: Path | str, *, sequence: int) -> None:
        """Load a tokenizer from a file or from its JSON; `ModelError` where it is neither."""
        self._tokenizer = load_tokenizer(source)
        self._special = int(self._tokenizer.num_special_tokens_to_add(is_pair=False))
        self.sequence = sequence

    @property
    def vocabulary(self) -> int:
        """How many different tokens there are."""
        return int(self._tokenizer.get_vocab_size(with_added_tokens=True))

    def room(self, prefix: str = "") -> int:
        """Return how many tokens of a text the model reads after this prefix."""
        return self.sequence - self._special - len(self._encode(prefix).ids)

    def encode(self, texts: Sequence[str], *, prefix: str = "") -> list[Ids]:
        """Return the ids of each text, special tokens included, cut to `sequence`."""
        room = self.sequence - self._special
        encodings = self._tokenizer.encode_batch_fast(
            [prefix + text for text in texts], add_special_tokens=False
        )
        for encoding in encodings:
            encoding.truncate(room)
        return [
            np.array(self._tokenizer.post_process(encoding).ids, dtype=np.int64)
            for encoding in encodings
        ]

    def starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each token starts, ascending; no special tokens.

        A long text is encoded in slices cut before white space, so memory stays bounded; where a
        slice has none, a token that lies across the cut counts as two.
        """
        parts = [
            np.array([first for first, _ in self._encode(text[start:end]).offsets], np.uint32)
            + np.uint32(start)
            for start, end in _slices(text)
        ]
        return np.concatenate(parts) if parts else np.empty(0, np.uint32)

    def _encode(self, text: str) -> tokenizers.Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)


def load_tokenizer(source: Path | str) -> tokenizers.Tokenizer:
    """Load a tokenizer that neither pads nor cuts, from a file or from its JSON."""
    try:
        if isinstance(source, Path):
            tokenizer = tokenizers.Tokenizer.from_file(str(source))
        else:
            tokenizer = tokenizers.Tokenizer.from_str(source)
    except Exception as error:  # the library raises nothing narrower
        where = source if isinstance(source, Path) else "tokenizer"
        raise ModelError(f"{where}: not a tokenizer ({error})") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def equal_lengths(ids: Sequence[Ids], *, tokens: int) -> Iterator[tuple[list[int], Ids]]:
    """Yield batches of texts of one length, longest first, as (rows, (n, length) ids).

    A batch holds at least one text and at most `tokens` tokens. Texts of one length need neither
    padding nor mask, so nothing is computed in vain and no text sees its neighbours.
    """
    by_length: dict[int, list[int]] = defaultdict(list)
    for row, text in enumerate(ids):
        by_length[len(text)].append(row)
    for length in sorted(by_length, reverse=True):
        rows = by_length[length]
        size = max(1, tokens // max(1, length))
        for first in range(0, len(rows), size):
            batch = rows[first : first + size]
            yield batch, np.stack([ids[row] for row in batch])


def feed(inputs: Sequence[str], ids: Ids, segments: Ids | None = None) -> dict[str, Ids]:
    """Return what a graph with these inputs takes for one batch of texts of one length."""
    known = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    known["token_type_ids"] = np.zeros_like(ids) if segments is None else segments
    if unknown := set(inputs) - known.keys():
        raise ModelError(f"the graph wants {', '.join(sorted(unknown))}; crx cannot feed it")
    return {name: known[name] for name in inputs}


def _slices(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = start + _SLICE
        if end < len(text):
            end = _last_space(text, start + 1, end)
        yield start, min(end, len(text))
        start = end


def _last_space(text: str, start: int, end: int) -> int:
    """Return the last white space of the range, or its end where there is none."""
    return next((at for at in range(end, start, -1) if text[at].isspace()), end)
