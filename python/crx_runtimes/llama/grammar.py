"""Tokens that a grammar (GBNF) allows. Runs in the child process."""

from __future__ import annotations

import ctypes

import llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

from crx_runtimes.llama.model import LlamaModel, PromptFailed

# The likeliest tokens that are tried before all others: a grammar is slow on a whole vocabulary.
_CANDIDATES = (1, 64)
_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class GrammarSampler:
    """A grammar and the tokens of one answer that it has accepted so far."""

    def __init__(self, model: LlamaModel, grammar: str) -> None:
        self._sampler = llama.llama_sampler_init_grammar(model.vocab, grammar.encode(), b"root")
        if not self._sampler:
            raise PromptFailed("llama.cpp does not accept the grammar")

    def choose(self, logits: NDArray[np.float32]) -> int:
        """Return the likeliest token that the grammar allows, and advance the grammar."""
        for size in (*_CANDIDATES, len(logits)):
            allowed = self._filter(_likeliest(logits, size), logits)
            if np.isfinite(allowed["logit"]).any():
                token = int(allowed["id"][allowed["logit"].argmax()])
                llama.llama_sampler_accept(self._sampler, token)
                return token
        raise PromptFailed("the grammar allows no token")

    def close(self) -> None:
        """Release the memory."""
        llama.llama_sampler_free(self._sampler)

    def _filter(self, tokens: NDArray[np.int64], logits: NDArray[np.float32]) -> NDArray[np.void]:
        """Return the candidates; the logit of one that is not allowed is minus infinity."""
        data = np.zeros(len(tokens), dtype=_TOKEN_DATA)
        data["id"], data["logit"] = tokens, logits[tokens]
        pointer = data.ctypes.data_as(llama.llama_token_data_p)
        candidates = llama.llama_token_data_array(pointer, len(data), -1, False)  # noqa: FBT003
        llama.llama_sampler_apply(self._sampler, ctypes.byref(candidates))
        return data


def _likeliest(logits: NDArray[np.float32], size: int) -> NDArray[np.int64]:
    if size >= len(logits):
        return np.arange(len(logits))
    return np.argpartition(logits, -size)[-size:]
