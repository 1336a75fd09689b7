"""Embedders run by sentence-transformers: any model it can load, and the reference in tests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crx.backends.cores import threads
from crx.backends.spec import split_options
from crx.errors import ModelError
from crx.models.tokens import Tokens, equal_lengths

_BATCH_TOKENS = 8192


def load(spec: str) -> SentenceTransformersEmbedder:
    """Load a folder, or a name of the local cache, as in "path/to/folder:device=cuda"."""
    name, options = split_options(spec, known={"device"})
    return SentenceTransformersEmbedder(name, device=options.get("device", "cpu"))


class SentenceTransformersEmbedder:
    """A sentence-transformers model, loaded from this machine alone and without code of its own.

    Texts of one length are run together, so nothing is padded; rows agree between batches to
    1e-6.
    """

    def __init__(self, name: str, *, device: str = "cpu") -> None:
        """Load a model; `ModelError` where the package, the model or the device is missing."""
        try:
            package = import_module("sentence_transformers")
        except ModuleNotFoundError as error:
            raise ModelError(
                f'st:{name}: needs {error.name}; install it with pip install "crx[st]"'
            ) from error
        import_module("torch").set_num_threads(threads())
        try:
            self._model: Any = package.SentenceTransformer(
                name, device=device, local_files_only=True, trust_remote_code=False
            )
        except (OSError, ValueError, RuntimeError, AssertionError) as error:
            line = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ModelError(f"st:{name}: not loaded ({line}); name a folder") from error
        # Our own copy of the tokenizer: the model's own pads and cuts as it was last used.
        tokenizer = self._model.tokenizer.backend_tokenizer.to_str()
        self._tokens = Tokens(tokenizer, sequence=int(self._model.max_seq_length))
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
        """Tokens of a passage that are read: special tokens and the prefix are taken off."""
        return self._tokens.room(self._passage)

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each token of the whole text starts, ascending."""
        return self._tokens.starts(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows, in order; `ModelError` for a vector that is not one."""
        prefix = self._query if query else self._passage
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        ids = self._tokens.encode(texts, prefix=prefix)
        for rows, _ in equal_lengths(ids, tokens=_BATCH_TOKENS):
            vectors[rows] = self._model.encode(
                [prefix + texts[row] for row in rows],
                prompt="",
                batch_size=len(rows),
                normalize_embeddings=True,
                show_progress_bar=False,
            )
        if not np.isfinite(vectors).all():
            raise ModelError("sentence-transformers gave a vector that is not finite")
        return vectors


def _prefixes(prompts: dict[str, str], default_name: str | None) -> tuple[str, str]:
    default = prompts.get(default_name or "", "")
    passages = (prompts[name] for name in ("passage", "document", "corpus") if name in prompts)
    return prompts.get("query", default), next(passages, default)


def _digest(model: Any, tokenizer: str) -> str:
    """Return a short hash over the weights, the tokenizer, the modules and the limits."""
    digest = hashlib.blake2b(digest_size=10)
    for name, tensor in sorted(model.state_dict().items()):
        # A pooler that nobody trained is drawn at random, and nothing here reads it.
        if ".pooler." in name:
            continue
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().float().numpy().tobytes())
    digest.update(tokenizer.encode())
    digest.update(repr((model.max_seq_length, sorted(model.prompts.items()), str(model))).encode())
    return digest.hexdigest()
