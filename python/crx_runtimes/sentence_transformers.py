"""Embedders and cross-encoders of any kind that sentence-transformers can load.

They are the reference that the tests compare other backends with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crx._backends.fork import ForkGuard
from crx._backends.options import split_options
from crx._models.cross_encoder import PairEncoder, relevance_logits, score_by_best_window
from crx._models.source_folder import first_position
from crx._models.tokenizer import Ids, ModelTokenizer, batch_by_length
from crx.errors import ModelError
from crx.thread_count import thread_count

_BATCH_TOKENS = 8192


def load_embedder(spec: str) -> SentenceTransformersEmbedder:
    """Load an embedder from a folder or the local cache, as in "path/to/folder:device=cuda"."""
    name, options = split_options(spec, known={"device"})
    return SentenceTransformersEmbedder(name, device=options.get("device", "cpu"))


def load_reranker(spec: str) -> SentenceTransformersReranker:
    """Load a cross-encoder from a folder or the local cache."""
    name, options = split_options(spec, known={"device"})
    return SentenceTransformersReranker(name, device=options.get("device", "cpu"))


class SentenceTransformersEmbedder:
    """A sentence-transformers model, loaded without the network and without its own code.

    A batch has texts of one length, so nothing is padded; a row agrees between batches to 1e-6.
    """

    def __init__(self, name: str, *, device: str = "cpu") -> None:
        """Load a model; raise `ModelError` if the package, the model or the device is missing."""
        self._model: Any = _model("SentenceTransformer", name, device)
        # The threads of torch do not exist in a fork.
        self._fork_guard = ForkGuard()
        # A copy of the tokenizer: the model's own pads and truncates as in its last call.
        tokenizer = self._model.tokenizer.backend_tokenizer.to_str()
        self._tokens = ModelTokenizer(tokenizer, sequence=int(self._model.max_seq_length))
        self._query, self._passage = _prefixes(self._model.prompts, self._model.default_prompt_name)
        self._fingerprint = f"st:{self.dimensions}:{_digest(self._model, tokenizer)}"

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        return int(self._model.get_embedding_dimension())

    @property
    def max_tokens(self) -> int:
        """Tokens of a passage that are read, not counting special tokens and the prefix."""
        return self._tokens.max_text_tokens(self._passage)

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each token of the whole text starts, ascending."""
        return self._tokens.token_starts(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows, in order; `ModelError` if a vector is not finite."""
        self._fork_guard.check("sentence-transformers")
        prefix = self._query if query else self._passage
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        ids = self._tokens.encode(texts, prefix=prefix, query=query)
        for rows, _ in batch_by_length(ids, tokens=_BATCH_TOKENS):
            vectors[rows] = self._model.encode(
                [prefix + texts[row] for row in rows],
                prompt="",
                batch_size=len(rows),
                normalize_embeddings=True,
                show_progress_bar=False,
            )
        if not np.isfinite(vectors).all():
            raise ModelError("st: gave a vector that is not finite; use another model")
        return vectors


class SentenceTransformersReranker:
    """A cross-encoder, loaded without the network and without its own code.

    Pairs are windowed by `crx._models.cross_encoder`; the library would truncate the longer text.
    """

    def __init__(self, name: str, *, device: str = "cpu") -> None:
        """Load a model; raise `ModelError` if the package, the model or the device is missing."""
        model = _model("CrossEncoder", name, device)
        tokenizer = model.tokenizer.backend_tokenizer.to_str()
        config = model.model.config.to_dict()
        room = int(config["max_position_embeddings"]) - first_position(config)
        self.device = device
        self._name = name
        self._fork_guard = ForkGuard()
        self._model: Any = model.model.eval()
        self._inputs = set(model.tokenizer.model_input_names)
        self._pairs = PairEncoder(tokenizer, sequence=min(room, int(model.max_seq_length or room)))
        self._fingerprint = f"st:{_digest(model, tokenizer, pooler=True)}"

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1), in order; a text scores as its best window."""
        self._fork_guard.check(f"st:{self._name}")
        windows = self._pairs.encode_windows(query, texts)
        pairs = [pair for window in windows for pair in window]
        logits = np.empty(len(pairs), np.float32)
        for rows, ids in batch_by_length([pair.ids for pair in pairs], tokens=_BATCH_TOKENS):
            output = self._run(ids, np.stack([pairs[row].segment_ids for row in rows]))
            logits[rows] = relevance_logits(output, name=self._name)
        if not np.isfinite(logits).all():
            raise ModelError(f"st:{self._name}: gave a score that is not finite; use another model")
        return score_by_best_window(logits, windows)

    def _run(self, ids: Ids, segments: Ids) -> NDArray[np.float32]:
        torch = import_module("torch")
        known = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": segments}
        with torch.inference_mode():
            inputs = {
                name: torch.from_numpy(value).to(self._model.device)
                for name, value in known.items()
                if name in self._inputs
            }
            logits: NDArray[np.float32] = self._model(**inputs).logits.float().cpu().numpy()
        return logits


def _model(kind: str, name: str, device: str) -> Any:
    """Load a model of the class of this name; raise `ModelError` if something is missing."""
    try:
        package = import_module("sentence_transformers")
    except ModuleNotFoundError as error:
        raise ModelError(
            f'st:{name}: needs {error.name}; install it with pip install "crx[st]"'
        ) from error
    import_module("torch").set_num_threads(thread_count())
    try:
        return getattr(package, kind)(
            name, device=device, local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError, RuntimeError, AssertionError) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"st:{name}: not loaded ({line}); name a folder") from error


def _prefixes(prompts: dict[str, str], default_name: str | None) -> tuple[str, str]:
    default = prompts.get(default_name or "", "")
    passages = (prompts[name] for name in ("passage", "document", "corpus") if name in prompts)
    return prompts.get("query", default), next(passages, default)


def _digest(model: Any, tokenizer: str, *, pooler: bool = False) -> str:
    """Return a short hash over the weights, the tokenizer, the modules and the limits."""
    digest = hashlib.blake2b(digest_size=10)
    for name, tensor in sorted(model.state_dict().items()):
        # An untrained pooler is initialised at random, and no embedder uses it.
        if ".pooler." in name and not pooler:
            continue
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().float().numpy().tobytes())
    digest.update(tokenizer.encode())
    digest.update(repr((model.max_seq_length, sorted(model.prompts.items()), str(model))).encode())
    return digest.hexdigest()
