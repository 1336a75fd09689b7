"""Embedders of the model store, run by OpenVINO, which is fast on a CPU with bfloat16."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crx._backends.first_load import require_tried
from crx._backends.fork import ForkGuard
from crx._backends.options import split_options
from crx._backends.stored_embedder import StoredEmbedder
from crx._models.card import GRAPH_FILE, QUERY_GRAPH_FILE, read_card
from crx._models.checked import check_files_daily
from crx._models.store import find_model
from crx._models.tokenizer import batch_by_length, graph_inputs, load_model_tokenizer
from crx.errors import ModelError
from crx.thread_count import thread_count

Arithmetic = Literal["f32", "bf16"]

_BATCH_TOKENS = 512


def load_embedder(spec: str) -> OpenVinoEmbedder:
    """Load a model by name or path, as in "minilm" or "minilm:arithmetic=bf16"."""
    name, options = split_options(spec, known={"arithmetic"})
    arithmetic = options.get("arithmetic", "f32")
    if arithmetic not in ("f32", "bf16"):
        raise ModelError(f"arithmetic={arithmetic}: no such arithmetic; take f32 or bf16")
    folder = find_model(name)
    require_tried(folder, read_card(folder), backend=__name__)
    return OpenVinoEmbedder(folder, arithmetic="bf16" if arithmetic == "bf16" else "f32")


def open_model(folder: Path) -> OpenVinoEmbedder:
    """Load the embedder in a folder, in this process, whoever made it."""
    return OpenVinoEmbedder(folder)


class OpenVinoEmbedder(StoredEmbedder):
    """A model of the store, in single precision or, with AMX or AVX512_BF16, in bfloat16."""

    def __init__(self, folder: Path, *, arithmetic: Arithmetic = "f32") -> None:
        """Load a model's folder; `ModelError` if a file, the package or bfloat16 is missing."""
        card = read_card(folder)
        if card.kind != "embedder" or card.precision != "fp32":
            raise ModelError(
                f"{folder}: {card.precision} {card.kind}; OpenVINO runs fp32 embedders here"
            )
        if QUERY_GRAPH_FILE in card.files:
            raise ModelError(
                f"{folder}: has a graph of its own for queries, which OpenVINO does not run here; "
                f"take {card.name} without openvino:"
            )
        check_files_daily(folder, card)
        super().__init__(card, load_model_tokenizer(folder, card))
        self._arithmetic = arithmetic
        # The queue has one callback, so calls from several threads take turns.
        self._lock = Lock()
        self._fork_guard = ForkGuard()
        self._compiled, self._queue = _compile(folder / GRAPH_FILE, arithmetic)
        self._inputs = [entry.get_any_name() for entry in self._compiled.inputs]

    @property
    def fingerprint(self) -> str:
        return f"openvino:{self._arithmetic}:{self.card.fingerprint}"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows, in order; `ModelError` if a vector is not finite."""
        self._fork_guard.check(f"openvino:{self.card.name}")
        ids = self._encode(texts, query=query)
        vectors = np.empty((len(texts), self.dimensions), np.float32)

        def copy_rows(request: Any, rows: list[int]) -> None:
            vectors[rows] = request.get_output_tensor(0).data

        with self._lock:
            self._queue.set_callback(copy_rows)
            for rows, batch in batch_by_length(ids, tokens=_BATCH_TOKENS):
                self._queue.start_async(graph_inputs(self._inputs, batch), rows)
            self._queue.wait_all()
        self._require_finite(vectors)
        return vectors


def _compile(path: Path, arithmetic: Arithmetic) -> tuple[Any, Any]:
    try:
        openvino = import_module("openvino")
    except ModuleNotFoundError as error:
        raise ModelError(
            f'{path}: needs {error.name}; install it with pip install "crx[openvino]"'
        ) from error
    core = openvino.Core()
    able = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    if arithmetic == "bf16" and "BF16" not in able:
        raise ModelError(
            "arithmetic=bf16: this CPU has neither AMX nor AVX512_BF16; take arithmetic=f32"
        )
    settings = {
        "INFERENCE_PRECISION_HINT": arithmetic,
        "INFERENCE_NUM_THREADS": thread_count(),
        "NUM_STREAMS": thread_count(),
    }
    try:
        compiled = core.compile_model(core.read_model(path), "CPU", settings)
    except RuntimeError as error:
        raise ModelError(f"{path}: not loaded by OpenVINO ({error})") from error
    return compiled, openvino.AsyncInferQueue(compiled, thread_count())
