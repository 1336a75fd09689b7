"""Embedders and rerankers of the model store, run by ONNX Runtime.

Each batch contains texts of one length and runs on one thread. Nothing is padded, so a row is
bit-identical whatever else is in its batch, and no thread pool outlives a call: on a CPU, a model
also works in a fork of the process that loaded it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx._backends.first_load import require_tried
from crx._backends.fork import ForkGuard
from crx._backends.options import split_options
from crx._backends.stored_embedder import StoredEmbedder
from crx._backends.stored_reranker import StoredReranker
from crx._backends.token_vectors import TokenStateReranker, TokenVectorReranker
from crx._models.card import (
    GRAPH_FILE,
    PIECES_FILE,
    QUERY_GRAPH_FILE,
    TOKENIZER_FILE,
    ModelCard,
    Precision,
    read_card,
)
from crx._models.checked import check_file_daily, check_files_daily
from crx._models.cross_encoder import PairEncoder, relevance_logits, score_by_best_window
from crx._models.onnx_folder import is_source_folder, read_reranker_folder, require_own_files
from crx._models.store import find_model
from crx._models.tokenizer import Ids, batch_by_length, graph_inputs, load_model_tokenizer
from crx.errors import ModelError
from crx.thread_count import thread_count

if TYPE_CHECKING:
    import onnxruntime

_Device = Literal["cpu", "cuda"]
_Batch = tuple[list[int], Ids]

# Tokens in a batch. On a CPU the fewest without a cost (512 take 5% longer, 8192 are no faster), so
# that threads share even a small call; on a GPU as many as fill it.
_BATCH_TOKENS = {"cpu": 1024, "cuda": 16384}
# The field `producer_name` near the beginning of an ONNX file.
_WRITTEN_BY_CRX = b"\x12\x03crx"
# Where a graph that is no file has its external data.
_TENSORS_FOLDER = "session.model_external_initializers_file_folder_path"
_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def load_embedder(spec: str) -> OnnxEmbedder:
    """Load an embedder by name or path: "minilm", "minilm@int8" or "minilm:device=cuda"."""
    name, device = _parse(spec)
    folder = find_model(name)
    require_tried(folder, read_card(folder), backend=__name__)
    return OnnxEmbedder(folder, device=device)


def load_reranker(spec: str) -> _OnnxReranker | TokenVectorReranker:
    """Load a reranker by name or path; a path may be a folder with an ONNX file of its own."""
    name, device = _parse(spec)
    folder = Path(name) if is_source_folder(Path(name)) else find_model(name)
    card, graph = _read_reranker(folder)
    require_tried(folder, card, backend=__name__)
    return _open_reranker(folder, card, graph, device)


def open_model(folder: Path) -> OnnxEmbedder | _OnnxReranker | TokenVectorReranker:
    """Load the model in a folder on the CPU, in this process, whoever made it."""
    card, graph = _read_reranker(folder)
    if card.kind == "embedder":
        return OnnxEmbedder(folder)
    return _open_reranker(folder, card, graph, "cpu")


def _read_reranker(folder: Path) -> tuple[ModelCard, Path]:
    """Return a model's card and graph; the card of a folder of its own has its files' hashes."""
    if is_source_folder(folder):
        return read_reranker_folder(folder)
    return read_card(folder), folder / GRAPH_FILE


def _open_reranker(
    folder: Path, card: ModelCard, graph: Path, device: _Device
) -> _OnnxReranker | TokenVectorReranker:
    if card.kind != "reranker":
        raise ModelError(f"{folder}: an {card.kind}, not a reranker; crx models lists them")
    if not is_source_folder(folder):
        check_files_daily(folder, card)
    require_own_files(graph, card.files)
    session = _Session(graph, precision=card.precision, device=device)
    opened = TokenVectorReranker if card.pooling == "tokens" else _OnnxReranker
    return opened(folder, card, session)


class OnnxEmbedder(StoredEmbedder):
    """An embedder of the model store, whose files are checked against their card once a day.

    A model may have a graph of its own for queries. It is loaded with the first query, since a
    process that only indexes has none.
    """

    def __init__(self, folder: Path, *, device: _Device = "cpu") -> None:
        """Load a model's folder; `ModelError` if a file or the device is missing or damaged."""
        card = read_card(folder)
        if card.kind != "embedder":
            raise ModelError(f"{folder}: a {card.kind}, not an embedder; crx models lists them")
        # What is parsed in Python is checked first, as a damaged file may be slow to refuse.
        check_file_daily(
            folder / (PIECES_FILE if PIECES_FILE in card.files else TOKENIZER_FILE), card
        )
        with ThreadPoolExecutor(1) as checker:
            # Hashing releases the interpreter's lock, so it runs while all else is loaded.
            checked = checker.submit(check_files_daily, folder, card)
            _runtime(device)
            tokens = load_model_tokenizer(folder, card)
            checked.result()
        super().__init__(card, tokens)
        self._folder = folder
        self._device: _Device = device
        self._graph = self._load(GRAPH_FILE)
        self._query_graph: _Session | None = None

    @property
    def fingerprint(self) -> str:
        return f"onnx:{self.card.fingerprint}"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows, in order; `ModelError` if a vector is not finite.

        A text is truncated to `max_tokens`.
        """
        ids = self._encode(texts, query=query)
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        graph = self._graph_of_queries() if query else self._graph

        def run(batch: _Batch) -> None:
            rows, tokens = batch
            made = graph.run(tokens)
            if made.shape != (len(rows), self.dimensions):
                raise ModelError(
                    f"{self.card.name}: gave vectors of shape {made.shape}; add it again"
                )
            vectors[rows] = made

        graph.each(ids, run)
        self._require_finite(vectors)
        return vectors

    def load_token_reranker(self) -> TokenStateReranker | None:
        """Load a reranker by the states of this model's tokens; None for a model without them.

        Those that another pooling than the mean is made of were not measured.
        """
        file = QUERY_GRAPH_FILE if QUERY_GRAPH_FILE in self.card.files else GRAPH_FILE
        is_mean = self.card.pooling == "mean"
        model = _native.onnx_with_states(self._folder / file) if is_mean else None
        if model is None:
            return None
        reranker = TokenStateReranker(self.card, self._tokens, self._load(file, model))
        return reranker if reranker.has_states() else None

    def _graph_of_queries(self) -> _Session:
        if QUERY_GRAPH_FILE not in self.card.files:
            return self._graph
        # No lock, which a fork could inherit locked: two threads may both load the graph.
        if self._query_graph is None:
            self._query_graph = self._load(QUERY_GRAPH_FILE)
        return self._query_graph

    def _load(self, file: str, model: bytes | None = None) -> _Session:
        path, precision = self._folder / file, self.card.precision
        require_own_files(path, self.card.files)
        return _Session(path, precision=precision, device=self._device, model=model)


class _OnnxReranker(StoredReranker):
    """A cross-encoder of the model store, or of a folder with an ONNX file and its tokenizer.

    The graph takes `input_ids`, optionally `attention_mask` and `token_type_ids`. Its first output
    is one logit a pair, or two, of which the second means "relevant".
    """

    def __init__(self, folder: Path, card: ModelCard, graph: _Session) -> None:
        """Read the tokenizer in a folder; `ModelError` if the graph gives no logits."""
        self.card: ModelCard = card
        self._pairs = PairEncoder(folder / TOKENIZER_FILE, sequence=card.sequence)
        self._graph = graph
        # A graph of another kind is refused when it is loaded, not during a search.
        self.score("a", ["a"])

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1), in order; a score depends on its text alone.

        A text longer than the model's window is read in several windows and scores as its best
        one. Raises `ModelError` if the query fills the window or the model fails.
        """
        windows = self._pairs.encode_windows(query, texts)
        pairs = [pair for window in windows for pair in window]
        logits = np.empty(len(pairs), np.float32)

        def run(batch: _Batch) -> None:
            rows, ids = batch
            output = self._graph.run(ids, np.stack([pairs[row].segment_ids for row in rows]))
            logits[rows] = relevance_logits(output, name=self.card.name)

        self._graph.each([pair.ids for pair in pairs], run)
        if not np.isfinite(logits).all():
            raise ModelError(f"{self.card.name}: gave a score that is not finite; add it again")
        return score_by_best_window(logits, windows)


class _Session:
    """A loaded graph that maps a batch of one length to its first output."""

    def __init__(
        self, path: Path, *, precision: Precision, device: _Device, model: bytes | None = None
    ) -> None:
        """Load a graph; `model` is what to load instead of the file, with the tensors beside it."""
        self._path = path
        self._session = _session(_runtime(device), path, device, precision, model)
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        self._output = self._session.get_outputs()[0].name
        self._threads = thread_count() if device == "cpu" else 1
        # A CUDA context does not survive a fork.
        self._fork_guard = ForkGuard() if device == "cuda" else None
        # The rounding of int8 activations depends on the whole batch.
        self._batch_tokens = 1 if precision == "int8" else _BATCH_TOKENS[device]

    def each(self, ids: Sequence[Ids], run: Callable[[_Batch], None]) -> None:
        """Call `run` for each batch of the texts' ids, on all threads."""
        if self._fork_guard is not None:
            self._fork_guard.check(str(self._path))
        _run_parallel(list(batch_by_length(ids, tokens=self._batch_tokens)), run, self._threads)

    def run_all(self, ids: Ids) -> list[NDArray[np.generic]]:
        """Return all outputs for a batch of (n, length) ids; `ModelError` if it fails."""
        return self._run(None, ids)

    def run(self, ids: Ids, segments: Ids | None = None) -> NDArray[np.float32]:
        """Return the first output for a batch of (n, length) ids; `ModelError` if it fails."""
        found: NDArray[np.float32] = self._run([self._output], ids, segments)[0]
        return found

    def _run(self, names: list[str] | None, ids: Ids, segments: Ids | None = None) -> list[Any]:
        inputs = graph_inputs(self._inputs, ids, segments)
        try:
            found: list[Any] = self._session.run(names, inputs)
        except Exception as error:  # the runtime's errors have no common public root
            why = (str(error).splitlines() or [type(error).__name__])[0]
            raise ModelError(f"{self._path}: failed ({why}); add the model again") from error
        return found


def _parse(spec: str) -> tuple[str, _Device]:
    name, options = split_options(spec, known={"device"})
    device = options.get("device", "cpu")
    if device not in _PROVIDERS:
        raise ModelError(f"device={device}: no such device; take cpu or cuda")
    return name, "cuda" if device == "cuda" else "cpu"


def _run_parallel(batches: Sequence[_Batch], run: Callable[[_Batch], None], count: int) -> None:
    """Run each batch on one of `count` threads; raise the first error of a batch."""
    if len(batches) < 2:
        for batch in batches:
            run(batch)
        return
    with ThreadPoolExecutor(min(count, len(batches))) as pool:
        list(pool.map(run, batches))


def _is_fused(path: Path) -> bool:
    """Return whether crx wrote a graph, with the runtime's own operators.

    To look for more of them takes as long as three queries, and the graph runs no faster after it.
    """
    with path.open("rb") as file:
        return _WRITTEN_BY_CRX in file.read(16)


def _runtime(device: _Device) -> ModuleType:
    runtime: ModuleType = import_module("crx._models.onnx_runtime").onnxruntime
    if _PROVIDERS[device] not in runtime.get_available_providers():
        raise ModelError(
            f"{device}: this onnxruntime has no {_PROVIDERS[device]}; "
            "install onnxruntime-gpu instead, or take device=cpu"
        )
    return runtime


def _session(
    runtime: ModuleType, path: Path, device: _Device, precision: Precision, model: bytes | None
) -> onnxruntime.InferenceSession:
    options = runtime.SessionOptions()
    if precision == "int8" and _is_fused(path):
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry(_TENSORS_FOLDER, str(path.parent))
    try:
        session = runtime.InferenceSession(model or path, options, providers=[_PROVIDERS[device]])
        # It keeps the bytes to load them again for another provider.
        session._model_bytes = None
    except Exception as error:  # the runtime's errors have no common public root
        raise ModelError(f"{path}: not loaded by ONNX Runtime ({error})") from error
    if _PROVIDERS[device] not in session.get_providers():
        raise ModelError(f"{path}: {device} was asked for and not used; take device=cpu")
    return session
