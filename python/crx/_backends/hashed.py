"""An embedder without weights: words and letter trigrams, hashed into a few hundred dimensions.

Feature hashing with signs (Weinberger et al. 2009) over whole words and over the letter trigrams of
each word, so that inflections and misspellings stay near each other. The sums are of integers and
only the last step divides, so vectors are bit-identical on every machine.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from crx._backends.options import split_options
from crx.errors import ModelError

_VERSION = 1

# Scripts written without spaces, of which each character is a token.
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
# Compiled when they are used: that takes longer than to look for changes in a folder.
_TOKEN = rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s]"
_WORD_CHARACTER = rf"[^\W{_UNSPACED}]"
_RUN = rf"([{_UNSPACED}]+)|[^\W{_UNSPACED}]+"

# A word weighs four times as much as one of its trigrams; weights grow with the word's length, up
# to 8 letters, because longer words are rarer.
_WORD_WEIGHT = 4
_MAX_LENGTH_WEIGHT = 8

# Characters whose kinds are looked up at once: a lookup takes nine bytes for each.
_PART_CHARS = 1 << 20
# Kinds of characters: white space, part of a word, a token of its own.
_SPACE, _WORD, _ALONE = range(3)

_Features = tuple[NDArray[np.int64], NDArray[np.int64]]


def load_embedder(spec: str) -> HashedEmbedder:
    """Return the embedder of options such as "d=64,max_tokens=128"."""
    _, options = split_options(f":{spec}", known={"d", "max_tokens"})
    try:
        numbers = {name: int(value) for name, value in options.items()}
        return HashedEmbedder(
            dimensions=numbers.get("d", 256), max_tokens=numbers.get("max_tokens", 512)
        )
    except ValueError as error:
        raise ModelError(f"hashed:{spec}: {error}; write hashed:d=256,max_tokens=512") from error


class HashedEmbedder:
    """An embedder by feature hashing; reads the first `max_tokens` tokens of a text."""

    def __init__(self, *, dimensions: int = 256, max_tokens: int = 512) -> None:
        if not 8 <= dimensions <= 65536 or max_tokens < 1:
            raise ValueError(f"{dimensions} dimensions of {max_tokens} tokens")
        self._dimensions = dimensions
        self._max_tokens = max_tokens

    @property
    def fingerprint(self) -> str:
        return f"hashed:{_VERSION}:{self._dimensions}:{self._max_tokens}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each word, sign or CJK character starts, ascending."""
        parts = range(0, len(text), _PART_CHARS)
        kinds = np.concatenate([_kinds(""), *(_kinds(text[at : at + _PART_CHARS]) for at in parts)])
        starts_word = kinds == _WORD
        starts_word[1:] &= kinds[:-1] != _WORD
        return np.flatnonzero(starts_word | (kinds == _ALONE)).astype(np.uint32)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows, in order; a query is embedded like a passage."""
        vectors = np.empty((len(texts), self._dimensions), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._vector(text[: self._end(text)])
        return vectors

    def _end(self, text: str) -> int:
        first_unread = next(islice(re.finditer(_TOKEN, text), self._max_tokens, None), None)
        return len(text) if first_unread is None else first_unread.start()

    def _vector(self, text: str) -> NDArray[np.float64]:
        sums = np.zeros(self._dimensions, np.int64)
        for word, count in Counter(_words(_folded(text))).items():
            slots, weights = _features(word, self._dimensions)
            # Term frequency is damped: a tenth mention adds less than the first.
            np.add.at(sums, slots, weights * count.bit_length())
        if not sums.any():
            sums[0] = 1
        unit: NDArray[np.float64] = sums / np.sqrt(np.sum(sums * sums))
        return unit


def _kinds_of(characters: str) -> NDArray[np.uint8]:
    """Return the kind of each character, as a search for the tokens tells it."""
    tokens = (re.match(_TOKEN, character) for character in characters)
    kinds = (
        _SPACE if token is None else _WORD if re.match(_WORD_CHARACTER, token[0]) else _ALONE
        for token in tokens
    )
    return np.fromiter(kinds, np.uint8)


@cache
def _ascii_kinds() -> NDArray[np.uint8]:
    return _kinds_of("".join(map(chr, range(128))))


def _kinds(text: str) -> NDArray[np.uint8]:
    """Return the kind of each character of a text; each distinct one is looked up once."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = _ascii_kinds()[np.minimum(codes, 127)]
    if not text.isascii():
        others = codes > 127
        distinct, inverse = np.unique(codes[others], return_inverse=True)
        kinds[others] = _kinds_of("".join(map(chr, distinct.tolist())))[inverse]
    return kinds


def _words(text: str) -> Iterator[str]:
    """Yield the words; for scripts without spaces, each pair of neighbouring characters."""
    for run in re.finditer(_RUN, text):
        word = run.group()
        if run.group(1) is None or len(word) == 1:
            yield word
        else:
            yield from map("".join, pairwise(word))


def _folded(text: str) -> str:
    """Return the text without case and diacritics."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


@lru_cache(maxsize=1 << 16)
def _features(word: str, dimensions: int) -> _Features:
    """Return the dimensions of a word and its trigrams, and their signed weights."""
    delimited = f"<{word}>"
    names = [delimited, *(delimited[at : at + 3] for at in range(len(delimited) - 2))]
    crcs = np.array([zlib.crc32(name.encode("utf-8", "surrogatepass")) for name in names])
    # Two multiplications mix the checksum's bits (constants as in Steele and Vigna 2021).
    mixed = (crcs * 0x9E3779B1) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> 15)) * 0x85EBCA6B) & 0xFFFFFFFF
    weights = np.full(len(names), min(len(word), _MAX_LENGTH_WEIGHT), np.int64)
    weights[0] *= _WORD_WEIGHT
    slots = (mixed >> 1) % dimensions
    return slots.astype(np.int64), np.where(mixed & 1, weights, -weights)
