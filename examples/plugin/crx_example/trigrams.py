"""An embedder that counts letter triples: `trigrams`, or `trigrams:512` for 512 dimensions."""

import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_TOKEN = re.compile(r"\w+|[^\w\s]")


class Trigrams:
    """Hashed counts of letter triples, as unit vectors."""

    max_tokens = 512

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.fingerprint = f"trigrams:{dimensions} revision=1"

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return where each word or sign starts: what a chunk's budget is counted in."""
        return np.array([found.start() for found in _TOKEN.finditer(text)], dtype=np.uint32)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            letters = f"  {text.casefold()}  "
            for at in range(len(letters) - 2):
                row[zlib.crc32(letters[at : at + 3].encode()) % self.dimensions] += 1
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


def load(options: str) -> Trigrams:
    """Return the embedder of what follows `trigrams:`."""
    return Trigrams(int(options or 256))
