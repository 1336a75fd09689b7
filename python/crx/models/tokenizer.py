"""Texts to token ids, and where the tokens of a text start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from crx.errors import ModelError
from crx.models.card import PIECES, TOKENIZER, ModelCard
from crx.models.pieces import Pieces

# Code points encoded at once by `starts`: an encoding takes some 200 bytes a token.
_SLICE = 1 << 16
# Code points cut with parts of a large vocabulary before the whole of it is loaded: to cut so many
# takes as long as the load.
_IN_PARTS = 20_000

Ids = NDArray[np.int64]


class Tokens:
    """The tokenizer of a model that reads `sequence` tokens at once, special tokens included."""

    def __init__(self, source: Path | str, *, sequence: int, pieces: Path | None = None) -> None:
        """Load a tokenizer from a file or from its JSON; `ModelError` where it is neither.

        `pieces` is the file of the tokenizer's large vocabulary, if it has one: then the tokenizer
        is loaded whole only for longer texts than queries are.
        """
        self._source = source
        self._pieces = Pieces(pieces) if pieces else None
        self._in_parts = 0
        self._whole = None if pieces else load_tokenizer(source)
        tokenizer, _ = self._for([])
        self._special = int(tokenizer.num_special_tokens_to_add(is_pair=False))
        self.sequence = sequence

    @property
    def vocabulary(self) -> int:
        """How many different tokens there are."""
        return int(self._all().get_vocab_size(with_added_tokens=True))

    def room(self, prefix: str = "") -> int:
        """Return how many tokens of a text the model reads after this prefix."""
        tokenizer, _ = self._for([prefix])
        taken = len(tokenizer.encode(prefix, add_special_tokens=False).ids)
        return self.sequence - self._special - taken

    def encode(self, texts: Sequence[str], *, prefix: str = "") -> list[Ids]:
        """Return the ids of each text, special tokens included, cut to `sequence`."""
        room = self.sequence - self._special
        read = [prefix + text for text in texts]
        tokenizer, meaning = self._for(read)
        encodings = tokenizer.encode_batch_fast(read, add_special_tokens=False)
        for encoding in encodings:
            encoding.truncate(room)
        ids = [np.array(tokenizer.post_process(each).ids, dtype=np.int64) for each in encodings]
        return ids if meaning is None else [meaning[each] for each in ids]

    def starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each token starts, ascending; no special tokens.

        A long text is encoded in slices cut before white space, so memory stays bounded; where a
        slice has none, a token that lies across the cut counts as two.
        """
        tokenizer, _ = self._for([text])
        parts = []
        for start, end in _slices(text):
            encoding = tokenizer.encode(text[start:end], add_special_tokens=False)
            firsts = [first for first, _ in encoding.offsets]
            parts.append(np.array(firsts, np.uint32) + np.uint32(start))
        return np.concatenate(parts) if parts else np.empty(0, np.uint32)

    def _for(self, texts: Sequence[str]) -> tuple[tokenizers.Tokenizer, Ids | None]:
        """Return a tokenizer for some texts, and what its ids mean if they are its own."""
        size = sum(map(len, texts))
        if self._whole is None and self._pieces and self._in_parts + size <= _IN_PARTS:
            self._in_parts += size
            return self._pieces.tokenizer(texts)
        return self._all(), None

    def _all(self) -> tokenizers.Tokenizer:
        self._whole = self._whole or load_tokenizer(self._source)
        return self._whole


def load_tokens(folder: Path, card: ModelCard) -> Tokens:
    """Load the tokenizer of a model of the store, whose files are to be checked by the caller."""
    pieces = folder / PIECES if PIECES in card.files else None
    return Tokens(folder / TOKENIZER, sequence=card.sequence, pieces=pieces)


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
