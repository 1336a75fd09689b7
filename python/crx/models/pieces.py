"""A large Unigram vocabulary that opens in milliseconds.

`tokenizers` takes a second and 300 MB to load the 250,000 pieces of a multilingual model. How
Unigram (Kudo 2018) cuts a text depends only on the pieces that occur in it and on the least score,
which an unknown character's follows. So a short text is cut by a tokenizer made of just those: of
the same library, with the same result.

The file is an uncompressed `.npz` of plain arrays: the tokenizer without its pieces, the pieces as
one text with their ends and scores, and the CRC-32 of each, sorted, to find them by.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from crx.errors import ModelError

# Fewer pieces load fast enough as they are.
LARGE = 50_000


def is_large_unigram(tokenizer: str) -> bool:
    """Tell whether a tokenizer's JSON holds a vocabulary that is worth this file."""
    model = json.loads(tokenizer)["model"]
    return model.get("type") == "Unigram" and len(model["vocab"]) >= LARGE


def write_pieces(tokenizer: str, path: Path) -> None:
    """Write the file for a Unigram tokenizer's JSON."""
    described = json.loads(tokenizer)
    model = described["model"]
    vocabulary = model.pop("vocab")
    encoded = [piece.encode() for piece, _ in vocabulary]
    scores = np.array([score for _, score in vocabulary], np.float64)
    digests = np.array([zlib.crc32(piece) for piece in encoded], np.uint32)
    order = np.argsort(digests, kind="stable").astype(np.uint32)
    always = sorted({int(scores.argmin()), model["unk_id"], *_special_ids(described)})
    np.savez(
        path,
        frame=np.frombuffer(json.dumps(described).encode(), np.uint8),
        text=np.frombuffer(b"".join(encoded), np.uint8),
        ends=np.cumsum([len(piece) for piece in encoded]).astype(np.uint32),
        scores=scores,
        digests=digests[order],
        order=order,
        always=np.array(always, np.int64),
        longest=np.int64(max(len(piece) for piece, _ in vocabulary)),
    )


class Pieces:
    """The vocabulary in the file, and tokenizers made of parts of it."""

    def __init__(self, path: Path) -> None:
        """Open the file; `ModelError` where it is missing or damaged."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                self._frame: dict[str, Any] = json.loads(arrays["frame"].tobytes())
                self._text: bytes = arrays["text"].tobytes()
                self._ends = arrays["ends"]
                self._scores = arrays["scores"]
                self._digests = arrays["digests"]
                self._order = arrays["order"]
                self._always: list[int] = arrays["always"].tolist()
                self._longest = int(arrays["longest"])
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ModelError(f"{path}: not readable ({error}); add the model again") from error
        self._smallest, _ = self._made_of(self._always)

    def tokenizer(self, texts: Sequence[str]) -> tuple[tokenizers.Tokenizer, NDArray[np.int64]]:
        """Return a tokenizer that cuts these texts as the whole one does, and what its ids mean.

        The second is the id in the whole vocabulary of each of its own.
        """
        return self._made_of(sorted({*self._always, *self._found(self._parts(texts))}))

    def _parts(self, texts: Iterable[str]) -> list[str]:
        """Return all that can be a piece of the texts: the parts of their words."""
        normalizer, pre_tokenizer = self._smallest.normalizer, self._smallest.pre_tokenizer
        words: set[str] = set()
        for text in texts:
            normalized = normalizer.normalize_str(text) if normalizer else text
            words.update(word for word, _ in pre_tokenizer.pre_tokenize_str(normalized))
        return list(
            {
                word[start:end]
                for word in words
                for start in range(len(word))
                for end in range(start + 1, min(start + self._longest, len(word)) + 1)
            }
        )

    def _found(self, parts: Sequence[str]) -> list[int]:
        """Return the ids of those parts that are pieces."""
        encoded = [part.encode() for part in parts]
        digests = np.array([zlib.crc32(part) for part in encoded], np.uint32)
        first = np.searchsorted(self._digests, digests, side="left")
        last = np.searchsorted(self._digests, digests, side="right")
        found = []
        for at in np.flatnonzero(last > first).tolist():
            ids = self._order[first[at] : last[at]].tolist()
            found += [each for each in ids if self._piece(each) == encoded[at]]
        return found

    def _piece(self, at: int) -> bytes:
        start = int(self._ends[at - 1]) if at else 0
        return self._text[start : int(self._ends[at])]

    def _made_of(self, ids: list[int]) -> tuple[tokenizers.Tokenizer, NDArray[np.int64]]:
        pairs = [[self._piece(at).decode(), float(self._scores[at])] for at in ids]
        own = {whole: at for at, whole in enumerate(ids)}
        described = _renumbered(self._frame, own)
        described["model"]["vocab"] = pairs
        return tokenizers.Tokenizer.from_str(json.dumps(described)), np.array(ids, np.int64)


def _special_ids(described: dict[str, Any]) -> set[int]:
    """Return the ids that a tokenizer names outside of its vocabulary."""
    added = {token["id"] for token in described["added_tokens"]}
    template = (described["post_processor"] or {}).get("special_tokens", {})
    return added.union(*(token["ids"] for token in template.values()))


def _renumbered(described: dict[str, Any], own: dict[int, int]) -> dict[str, Any]:
    """Return the description with its special ids replaced."""
    copy: dict[str, Any] = json.loads(json.dumps(described))
    copy["model"]["unk_id"] = own[copy["model"]["unk_id"]]
    for token in copy["added_tokens"]:
        token["id"] = own[token["id"]]
    template = (copy["post_processor"] or {}).get("special_tokens", {})
    for token in template.values():
        token["ids"] = [own[each] for each in token["ids"]]
    return copy
