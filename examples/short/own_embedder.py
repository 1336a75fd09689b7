"""An embedder of one's own: a text is the counts of its letters."""

from collections.abc import Sequence
from tempfile import TemporaryDirectory

import numpy as np

import crx


class Letters:
    fingerprint, dimensions, max_tokens = "letters 1", 128, 8192

    def token_starts(self, text: str) -> np.ndarray:
        return np.arange(len(text), dtype=np.uint32)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        rows = np.array([[text.count(chr(code)) for code in range(128)] for text in texts])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


with TemporaryDirectory() as folder, crx.open(f"{folder}/i.crx", embedder=Letters()) as index:
    index.add_documents(crx.Document(text, text) for text in ("A whale eats krill.", "0123"))
    print(index.search("wahle", legs=["dense"])[0].uri)
