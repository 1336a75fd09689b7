"""Tokenization: token ids of texts, and the positions at which their tokens start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from crx._models.card import PIECES_FILE, TOKENIZER_FILE, ModelCard, require_small
from crx._models.pieces import PieceVocabulary
from crx.errors import ModelError

# Characters encoded at once by `token_starts`; an encoding takes about 200 bytes per token.
_SLICE_CHARS = 1 << 16
# Characters encoded with subsets of a large vocabulary before the full tokenizer is loaded.
# Encoding this many takes as long as loading it.
_SUBSET_CHARS = 20_000
# Characters of a query that is always encoded with a subset, in 12 ms at most. The full tokenizer
# takes 300 MB, and one search of a server would wait a second for it.
QUERY_CHARS = 2_000
# Four times the largest that is known. The library reads a file whole and needs ten times as much.
_MAX_TOKENIZER_BYTES = 1 << 27

Ids = NDArray[np.int64]


class ModelTokenizer:
    """The tokenizer of a model that reads at most `sequence` tokens, including special tokens."""

    def __init__(self, source: Path | str, *, sequence: int, pieces: Path | None = None) -> None:
        """Load a tokenizer from a file or a JSON string; `ModelError` if it is invalid.

        `pieces` is the piece file of a tokenizer with a large vocabulary. With it, the full
        tokenizer is loaded only for texts that are longer than queries, or for many of them.
        """
        self._source = source
        self._vocabulary = PieceVocabulary(pieces) if pieces else None
        self._subset_chars = 0
        self._full = None if pieces else load_plain_tokenizer(source)
        tokenizer, _ = self._tokenizer_for([])
        self._special_tokens = int(tokenizer.num_special_tokens_to_add(is_pair=False))
        self.sequence = sequence

    @property
    def vocabulary_size(self) -> int:
        """The number of rows that a table of tokens needs: one more than the largest id."""
        vocabulary = self._full_tokenizer().get_vocab(with_added_tokens=True)
        return max(vocabulary.values(), default=-1) + 1

    def ids_of(self, words: Sequence[str]) -> tuple[int, ...]:
        """Return the ids of the words that are tokens."""
        found = (self._full_tokenizer().token_to_id(word) for word in words)
        return tuple(each for each in found if each is not None)

    def max_text_tokens(self, prefix: str = "") -> int:
        """Return how many tokens of a text the model reads after this prefix."""
        tokenizer, _ = self._tokenizer_for([prefix])
        prefix_tokens = len(tokenizer.encode(prefix, add_special_tokens=False).ids)
        return self.sequence - self._special_tokens - prefix_tokens

    def encode(self, texts: Sequence[str], *, prefix: str = "", query: bool = False) -> list[Ids]:
        """Return the token ids of each text with special tokens, truncated to `sequence`.

        However many queries there are, none that is short has the full tokenizer loaded.
        """
        max_tokens = self.sequence - self._special_tokens
        prefixed = [prefix + text for text in texts]
        tokenizer, full_ids = self._tokenizer_for(prefixed, query=query)
        encodings = tokenizer.encode_batch_fast(prefixed, add_special_tokens=False)
        for encoding in encodings:
            encoding.truncate(max_tokens)
        ids = [np.array(tokenizer.post_process(each).ids, dtype=np.int64) for each in encodings]
        return ids if full_ids is None else [full_ids[each] for each in ids]

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each token starts, ascending, without special tokens.

        A long text is encoded in slices that end before white space, so that memory use is
        bounded. In a slice without white space, a token across the cut counts as two.
        """
        tokenizer, _ = self._tokenizer_for([text])
        parts = []
        for start, end in _slices(text):
            encoding = tokenizer.encode(text[start:end], add_special_tokens=False)
            starts = [first for first, _ in encoding.offsets]
            parts.append(np.array(starts, np.uint32) + np.uint32(start))
        return np.concatenate(parts) if parts else np.empty(0, np.uint32)

    def _tokenizer_for(
        self, texts: Sequence[str], *, query: bool = False
    ) -> tuple[tokenizers.Tokenizer, Ids | None]:
        """Return a tokenizer for these texts, and the map of its ids to the full tokenizer's.

        The map is None for the full tokenizer.
        """
        chars = sum(map(len, texts))
        counted = 0 if query and chars <= QUERY_CHARS else chars
        if (
            self._full is None
            and self._vocabulary
            and self._subset_chars + counted <= _SUBSET_CHARS
        ):
            self._subset_chars += counted
            return self._vocabulary.build_tokenizer(texts)
        return self._full_tokenizer(), None

    def _full_tokenizer(self) -> tokenizers.Tokenizer:
        self._full = self._full or load_plain_tokenizer(self._source)
        return self._full


def load_model_tokenizer(folder: Path, card: ModelCard) -> ModelTokenizer:
    """Load the tokenizer of a model in the store. The caller checks the model's files."""
    pieces = folder / PIECES_FILE if PIECES_FILE in card.files else None
    return ModelTokenizer(folder / TOKENIZER_FILE, sequence=card.sequence, pieces=pieces)


def load_plain_tokenizer(source: Path | str) -> tokenizers.Tokenizer:
    """Load a tokenizer from a file or a JSON string, with padding and truncation off."""
    try:
        if isinstance(source, Path):
            require_small(source, _MAX_TOKENIZER_BYTES)
            tokenizer = tokenizers.Tokenizer.from_file(str(source))
        else:
            tokenizer = tokenizers.Tokenizer.from_str(source)
    except ModelError:
        raise
    except Exception as error:  # the library raises nothing narrower
        name = source if isinstance(source, Path) else "tokenizer"
        raise ModelError(f"{name}: not a tokenizer ({error}); download the file again") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def batch_by_length(ids: Sequence[Ids], *, tokens: int) -> Iterator[tuple[list[int], Ids]]:
    """Yield batches of texts of equal length, longest first, as (row numbers, (n, length) ids).

    A batch holds at least one text and at most `tokens` tokens. Texts of equal length need no
    padding and no attention mask, so no computation is wasted and texts do not affect each other.
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


def graph_inputs(names: Sequence[str], ids: Ids, segment_ids: Ids | None = None) -> dict[str, Ids]:
    """Return the input tensors of a graph for a batch of texts of equal length, by name.

    Segment ids default to zeros. Raises `ModelError` for an unknown input name.
    """
    tensors = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    tensors["token_type_ids"] = np.zeros_like(ids) if segment_ids is None else segment_ids
    if unknown := set(names) - tensors.keys():
        raise ModelError(
            f"the graph needs the inputs {', '.join(sorted(unknown))}, which crx does not provide"
        )
    return {name: tensors[name] for name in names}


def _slices(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = start + _SLICE_CHARS
        if end < len(text):
            end = _last_space(text, start + 1, end)
        yield start, min(end, len(text))
        start = end


def _last_space(text: str, start: int, end: int) -> int:
    """Return the position of the last white space in the range, or `end` if there is none."""
    return next((at for at in range(end, start, -1) if text[at].isspace()), end)
