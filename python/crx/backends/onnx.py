"""Embedders of the model store, run by ONNX Runtime.

Texts are run in batches of one length, a batch a thread: nothing is padded, so a row is the same
to the last bit whatever else is embedded with it, and threads never wait for each other within a
text.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from crx.backends.cores import threads
from crx.backends.spec import split_options
from crx.errors import ModelError
from crx.models.card import GRAPH, TOKENIZER, ModelCard, check_file, read_card
from crx.models.store import find
from crx.models.tokens import Ids, Tokens, equal_lengths, feed

if TYPE_CHECKING:
    import onnxruntime  # type: ignore[import-untyped]

Device = Literal["cpu", "cuda"]

# Tokens in a batch. On a CPU, as few as cost nothing (512 take 5% longer, 8192 no less), so that
# threads share even a small call; on a GPU, as many as fill it.
_BATCH_TOKENS = {"cpu": 1024, "cuda": 16384}
_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def load(spec: str) -> OnnxEmbedder:
    """Load a model by name or path, as in "minilm", "minilm@int8" or "minilm:device=cuda"."""
    name, options = split_options(spec, known={"device"})
    device = options.get("device", "cpu")
    if device not in _PROVIDERS:
        raise ModelError(f"device={device}: no such device; take cpu or cuda")
    return OnnxEmbedder(find(name), device="cuda" if device == "cuda" else "cpu")


class OnnxEmbedder:
    """A model of the store. Its files are checked against their card when it is made."""

    def __init__(self, folder: Path, *, device: Device = "cpu") -> None:
        """Load a model's folder; `ModelError` where a file or the device is missing or damaged."""
        card = read_card(folder)
        if card.kind != "embedder":
            raise ModelError(f"{folder}: a {card.kind}, not an embedder; crx models lists them")
        check_file(folder / TOKENIZER, card)
        with ThreadPoolExecutor(1) as checker:
            # Hashing needs no interpreter: it goes on while all else is loaded.
            checked = checker.submit(check_file, folder / GRAPH, card)
            runtime = _runtime(device)
            self._tokens = Tokens(folder / TOKENIZER, sequence=card.sequence)
            checked.result()
        self.card: ModelCard = card
        self._threads = threads() if device == "cpu" else 1
        self._batch_tokens = 1 if card.precision == "int8" else _BATCH_TOKENS[device]
        self._session = _session(runtime, folder / GRAPH, device)
        self._inputs = [entry.name for entry in self._session.get_inputs()]

    @property
    def fingerprint(self) -> str:
        return f"onnx:{self.card.fingerprint}"

    @property
    def dimensions(self) -> int:
        return self.card.dimensions

    @property
    def max_tokens(self) -> int:
        """Tokens of a passage that are read: special tokens and the prefix are taken off."""
        return self.card.max_tokens

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each token of the whole text starts, ascending."""
        return self._tokens.starts(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows, in order; `ModelError` for a vector that is not one.

        A text is cut to the tokens that the model reads.
        """
        prefix = self.card.query_prefix if query else self.card.passage_prefix
        ids = self._tokens.encode(texts, prefix=prefix)
        vectors = np.empty((len(texts), self.dimensions), np.float32)

        def run(batch: tuple[list[int], Ids]) -> None:
            rows, tokens = batch
            vectors[rows] = self._run(tokens)

        batches = list(equal_lengths(ids, tokens=self._batch_tokens))
        if len(batches) < 2:
            for batch in batches:
                run(batch)
        else:
            with ThreadPoolExecutor(min(self._threads, len(batches))) as pool:
                for _ in pool.map(run, batches):
                    pass
        if not np.isfinite(vectors).all():
            raise ModelError(f"{self.card.name}: gave a vector that is not finite; add it again")
        return vectors

    def _run(self, tokens: Ids) -> NDArray[np.float32]:
        try:
            found: NDArray[np.float32] = self._session.run(["vectors"], feed(self._inputs, tokens))[
                0
            ]
        except Exception as error:  # the runtime's errors have no common public root
            raise ModelError(f"{self.card.name}: failed ({error}); add it again") from error
        return found


def _runtime(device: Device) -> ModuleType:
    runtime = import_module("onnxruntime")
    if _PROVIDERS[device] not in runtime.get_available_providers():
        raise ModelError(
            f"{device}: this onnxruntime has no {_PROVIDERS[device]}; "
            "install onnxruntime-gpu in its place, or take device=cpu"
        )
    return runtime


def _session(runtime: ModuleType, path: Path, device: Device) -> onnxruntime.InferenceSession:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = runtime.InferenceSession(path, options, providers=[_PROVIDERS[device]])
    except Exception as error:  # the runtime's errors have no common public root
        raise ModelError(f"{path}: not loaded by ONNX Runtime ({error})") from error
    if _PROVIDERS[device] not in session.get_providers():
        raise ModelError(f"{path}: {device} was asked for and not used; take device=cpu")
    return session
