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


def random_walks(
    text: NDArray[np.int32], chunks: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Return (chunks, 150) word numbers of random walks over the bigrams of the text."""
    order = np.argsort(text[:-1], kind="stable")
    start = np.searchsorted(text[:-1][order], np.arange(text.max() + 2))
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
