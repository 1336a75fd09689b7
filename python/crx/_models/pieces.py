"""Piece file: a large Unigram vocabulary in a format that loads in milliseconds.

`tokenizers` needs a second and 300 MB to load the 250,000 pieces of a multilingual model. How
Unigram (Kudo 2018) tokenizes a text depends only on the pieces that occur in the text and on the
lowest score, from which the score of an unknown character is derived. A short text is therefore
tokenized by a tokenizer that is built, with the same library, from these pieces alone; the result
is the same.

The file is an uncompressed `.npz` of plain arrays: the tokenizer without its pieces, the pieces as
one byte string with their end offsets and scores, and the sorted CRC-32 of each piece for look-up.
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

# Smaller vocabularies load fast enough from the tokenizer's own file.
LARGE_VOCABULARY = 50_000


def is_large_unigram(tokenizer: str) -> bool:
    """Return whether a tokenizer's JSON holds a Unigram vocabulary large enough for this file."""
    model = json.loads(tokenizer)["model"]
    return model.get("type") == "Unigram" and len(model["vocab"]) >= LARGE_VOCABULARY


def write_pieces(tokenizer: str, path: Path) -> None:
    """Write the piece file of a Unigram tokenizer, given its JSON."""
    config = json.loads(tokenizer)
    model = config["model"]
    vocabulary = model.pop("vocab")
    encoded = [piece.encode() for piece, _ in vocabulary]
    scores = np.array([score for _, score in vocabulary], np.float64)
    checksums = np.array([zlib.crc32(piece) for piece in encoded], np.uint32)
    order = np.argsort(checksums, kind="stable").astype(np.uint32)
    always = sorted({int(scores.argmin()), model["unk_id"], *_special_ids(config)})
    np.savez(
        path,
        frame=np.frombuffer(json.dumps(config).encode(), np.uint8),
        text=np.frombuffer(b"".join(encoded), np.uint8),
        ends=np.cumsum([len(piece) for piece in encoded]).astype(np.uint32),
        scores=scores,
        digests=checksums[order],
        order=order,
        always=np.array(always, np.int64),
        longest=np.int64(max(len(piece) for piece, _ in vocabulary)),
    )


class PieceVocabulary:
    """The vocabulary in a piece file, from which tokenizers for short texts are built."""

    def __init__(self, path: Path) -> None:
        """Read the file; `ModelError` if it is missing or damaged."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                self._config: dict[str, Any] = json.loads(arrays["frame"].tobytes())
                self._text: bytes = arrays["text"].tobytes()
                self._ends = arrays["ends"]
                self._scores = arrays["scores"]
                self._checksums = arrays["digests"]
                self._order = arrays["order"]
                self._always: list[int] = arrays["always"].tolist()
                self._longest = int(arrays["longest"])
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ModelError(f"{path}: not readable ({error}); add the model again") from error
        self._smallest, _ = self._build(self._always)

    def build_tokenizer(
        self, texts: Sequence[str]
    ) -> tuple[tokenizers.Tokenizer, NDArray[np.int64]]:
        """Return a tokenizer that tokenizes these texts as the full one does, and its id map.

        The id map, (vocabulary of the small tokenizer,) int64, holds the full tokenizer's id of
        each of its ids.
        """
        return self._build(sorted({*self._always, *self._piece_ids(self._substrings(texts))}))

    def _substrings(self, texts: Iterable[str]) -> list[str]:
        """Return every substring of the texts' words that is short enough to be a piece."""
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

    def _piece_ids(self, substrings: Sequence[str]) -> list[int]:
        """Return the ids of the substrings that are pieces."""
        encoded = [substring.encode() for substring in substrings]
        checksums = np.array([zlib.crc32(substring) for substring in encoded], np.uint32)
        first = np.searchsorted(self._checksums, checksums, side="left")
        last = np.searchsorted(self._checksums, checksums, side="right")
        found = []
        for at in np.flatnonzero(last > first).tolist():
            ids = self._order[first[at] : last[at]].tolist()
            found += [each for each in ids if self._piece(each) == encoded[at]]
        return found

    def _piece(self, at: int) -> bytes:
        start = int(self._ends[at - 1]) if at else 0
        return self._text[start : int(self._ends[at])]

    def _build(self, ids: list[int]) -> tuple[tokenizers.Tokenizer, NDArray[np.int64]]:
        """Return a tokenizer of these pieces, and its id map."""
        pairs = [[self._piece(at).decode(), float(self._scores[at])] for at in ids]
        new_ids = {full_id: at for at, full_id in enumerate(ids)}
        config = _with_special_ids(self._config, new_ids)
        config["model"]["vocab"] = pairs
        return tokenizers.Tokenizer.from_str(json.dumps(config)), np.array(ids, np.int64)


def _special_ids(config: dict[str, Any]) -> set[int]:
    """Return the ids that a tokenizer uses in its added tokens and its post-processor."""
    added = {token["id"] for token in config["added_tokens"]}
    template = (config["post_processor"] or {}).get("special_tokens", {})
    return added.union(*(token["ids"] for token in template.values()))


def _with_special_ids(config: dict[str, Any], new_ids: dict[int, int]) -> dict[str, Any]:
    """Return a copy of a tokenizer's configuration with its special ids replaced."""
    copy: dict[str, Any] = json.loads(json.dumps(config))
    copy["model"]["unk_id"] = new_ids[copy["model"]["unk_id"]]
    for token in copy["added_tokens"]:
        token["id"] = new_ids[token["id"]]
    template = (copy["post_processor"] or {}).get("special_tokens", {})
    for token in template.values():
        token["ids"] = [new_ids[each] for each in token["ids"]]
    return copy
