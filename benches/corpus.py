"""Chunks with natural frequencies of words and word pairs, made from the standard library."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def library_words() -> tuple[list[str], NDArray[np.int32]]:
    """Return the distinct words of the standard library, and its sources as word numbers."""
    number: dict[str, int] = {}
    text: list[int] = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        source = path.read_text(encoding="utf-8", errors="ignore").lower()
        text += [number.setdefault(w, len(number)) for w in re.findall("[a-z]+", source)]
    return list(number), np.array(text, dtype=np.int32)


class RandomWalks:
    """Random walks over the bigrams of a text of word numbers."""

    def __init__(self, text: NDArray[np.int32]) -> None:
        self._text = text
        # The positions of each word, word by word.
        self._order = np.argsort(text[:-1], kind="stable")
        self._start = np.searchsorted(text[:-1][self._order], np.arange(text.max() + 2))

    def draw(self, chunks: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Return (chunks, 150) word numbers."""
        text, order, start = self._text, self._order, self._start
        out = np.empty((chunks, 150), dtype=np.int32)
        here = rng.integers(len(text) - 1, size=chunks)
        for step in range(150):
            word = text[here]
            out[:, step] = word
            first, end = start[word], start[word + 1]
            dead = first == end
            jump = order[
                np.minimum(first + rng.random(chunks) * (end - first), len(order) - 1).astype(int)
            ]
            here = np.where(dead, 0, jump + 1)
            here[here >= len(text) - 1] = 0
        return out
