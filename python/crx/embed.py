"""The step that turns texts into vectors: choose an embedder, run it, count what it cut.

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
class Embedded:
    """The vectors of a batch, (n, d) float32, and how many of its texts were cut to be read."""

    vectors: NDArray[np.float32]
    truncated: int


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


def embed_all(embedder: Embedder, texts: Sequence[str]) -> Embedded:
    """Embed passages and count those longer than the model reads.

    Raises `ModelError` where a plug's rows are not what `Embedder.embed` promises.
    """
    vectors = embedder.embed(texts)
    wanted = (len(texts), embedder.dimensions)
    if vectors.shape != wanted or vectors.dtype != np.float32:
        raise ModelError(
            f"{embedder.fingerprint}: gave {vectors.dtype} {vectors.shape}, not float32 {wanted}"
        )
    if not np.isfinite(vectors).all():
        raise ModelError(f"{embedder.fingerprint}: gave a vector that is not finite")
    return Embedded(vectors, count_truncated(embedder, texts))


def count_truncated(embedder: Embedder, texts: Sequence[str]) -> int:
    """Return how many of the texts have more tokens than the model reads."""
    # A token takes a code point or more, so a short text need not be counted.
    limit = embedder.max_tokens
    long = (text for text in texts if len(text) > limit)
    return sum(len(embedder.token_starts(text)) > limit for text in long)


def _plugs() -> dict[str, EntryPoint]:
    # Imported here: it takes a tenth of a cold start, and a model of the store needs no plug.
    from importlib.metadata import entry_points

    return {plug.name: plug for plug in entry_points(group=GROUP)}
