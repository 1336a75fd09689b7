"""The step that turns texts into vectors: choose an embedder, run it, cut nothing.

An embedder is named by a specification:

- `minilm`, `minilm@int8`, `onnx:minilm`, `onnx:path/to/folder`: a model of the store
- `openvino:minilm`: the same model, run by OpenVINO
- `st:path/to/folder`: a folder of sentence-transformers, run by it
- `hashed`, `hashed:d=64`: no weights at all
- `NAME:REST`: a plug of the entry point group `crx.embedders`, called with `REST`

Options follow a colon, as in `minilm:device=cuda`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crx.errors import ModelError
from crx.models.store import is_here
from crx.protocols import Embedder

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

DEFAULT = "minilm"
GROUP = "crx.embedders"

_BACKENDS = {
    "hashed": "crx.backends.hashed",
    "onnx": "crx.backends.onnx",
    "openvino": "crx.backends.openvino",
    "st": "crx.backends.st",
}


@dataclass(frozen=True, slots=True)
class Situated:
    """A text and what is put in front of it to situate it; either may be empty."""

    before: str
    text: str


def load_embedder(spec: str = DEFAULT) -> Embedder:
    """Return the embedder that a specification names.

    Raises `ModelError` for an unknown one, naming what is here, and for a backend whose package
    is not installed, naming the command that installs it.
    """
    kind, _, rest = spec.partition(":")
    if kind in _BACKENDS:
        embedder = import_module(_BACKENDS[kind]).load(rest)
    elif not is_here(kind) and (plug := _plugs().get(kind)):
        embedder = plug.load()(rest)
    else:
        embedder = import_module(_BACKENDS["onnx"]).load(spec)
    if not isinstance(embedder, Embedder):
        raise ModelError(f"{spec}: {type(embedder).__name__} is not an embedder; mend the plug")
    return embedder


def embed_situated(
    embedder: Embedder, texts: Sequence[Situated]
) -> tuple[NDArray[np.float32], int]:
    """Return (n, d) float32 unit rows, and how many of the texts took more than one window.

    Nothing is cut: a text that the embedder's window cannot hold with what situates it is read in
    several windows of equal length, each with that in front, and its vector is their mean, made
    unit. Raises `ModelError` where a plug's rows are not what `Embedder.embed` promises.
    """
    windows = [_windows(embedder, text) for text in texts]
    rows = _checked(embedder, [window for each in windows for window in each])
    starts = np.cumsum([0, *(len(each) for each in windows)])
    sums = np.add.reduceat(rows, starts[:-1], axis=0) if len(texts) else rows
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    several = sum(len(each) > 1 for each in windows)
    means = np.divide(sums, lengths, out=sums, where=lengths > 0)
    single = np.array([len(each) == 1 for each in windows], dtype=bool)
    means[single] = rows[starts[:-1][single]]
    return means, several


def _windows(embedder: Embedder, situated: Situated) -> list[str]:
    """Return the texts that together hold a situated text, each within the embedder's window."""
    whole = "\n".join(part for part in (situated.before, situated.text) if part)
    # A token takes a code point or more, so a short text need not be counted.
    if len(whole) <= embedder.max_tokens or _tokens(embedder, whole) <= embedder.max_tokens:
        return [whole]
    starts = embedder.token_starts(situated.text)
    before = situated.before
    room = embedder.max_tokens - _tokens(embedder, before)
    if room < embedder.max_tokens // 2:
        # What situates would fill the window: it is read as part of the text.
        before, starts, room = "", embedder.token_starts(whole), embedder.max_tokens
    text = situated.text if before else whole
    count = -(-len(starts) // room)
    edges = [int(starts[len(starts) * n // count]) for n in range(1, count)]
    pieces = [text[a:b] for a, b in zip([0, *edges], [*edges, len(text)], strict=True)]
    return ["\n".join(part for part in (before, piece) if part) for piece in pieces]


def _tokens(embedder: Embedder, text: str) -> int:
    return len(embedder.token_starts(text))


def _checked(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    vectors = embedder.embed(texts)
    wanted = (len(texts), embedder.dimensions)
    if vectors.shape != wanted or vectors.dtype != np.float32:
        raise ModelError(
            f"{embedder.fingerprint}: gave {vectors.dtype} {vectors.shape}, not float32 {wanted}"
        )
    if not np.isfinite(vectors).all():
        raise ModelError(f"{embedder.fingerprint}: gave a vector that is not finite")
    return vectors


def _plugs() -> dict[str, EntryPoint]:
    # Imported here: it takes a tenth of a cold start, and a model of the store needs no plug.
    from importlib.metadata import entry_points

    return {plug.name: plug for plug in entry_points(group=GROUP)}
