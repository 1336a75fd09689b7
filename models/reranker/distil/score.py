"""Scores of pairs by the graph of a cross-encoder, one pair at a time on one thread."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from excerpt import HEAD_TOKENS, Pair, PairReader
from numpy.typing import NDArray

from crx._models.card import GRAPH_FILE, TOKENIZER_FILE


class Scorer:
    """A cross-encoder of the model store that reads pairs of at most `tokens` tokens."""

    def __init__(self, model: Path, *, tokens: int, head_tokens: int = HEAD_TOKENS) -> None:
        self._reader = PairReader(model / TOKENIZER_FILE)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            model / GRAPH_FILE, options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._tokens = tokens
        self._head_tokens = head_tokens

    def score(self, query: str, heads: Sequence[str], texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) logits of texts, each with the first line of its outline."""
        pairs = [
            self._reader.pair(query, head, text, tokens=self._tokens, head_tokens=self._head_tokens)
            for head, text in zip(heads, texts, strict=True)
        ]
        return np.array([self._logit(pair) for pair in pairs], np.float32)

    def _logit(self, pair: Pair) -> float:
        values = {
            "input_ids": pair.ids[None],
            "token_type_ids": pair.segment_ids[None],
            "attention_mask": np.ones_like(pair.ids)[None],
        }
        inputs = {name: value for name, value in values.items() if name in self._inputs}
        return float(self._session.run(None, inputs)[0].reshape(-1)[0])
