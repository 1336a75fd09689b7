"""Late-interaction rerankers: a vector for each token of a text, compared by MaxSim.

A text scores the mean, over the tokens of the query, of the largest cosine to one of its own tokens
(Khattab and Zaharia 2020). The vectors are those of a model for it, or an embedder's token states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crx._backends.stored_reranker import StoredReranker
from crx._models.card import ModelCard
from crx._models.tokenizer import QUERY_CHARS, Ids, ModelTokenizer, load_model_tokenizer
from crx.errors import ModelError

_Batch = tuple[list[int], Ids]


class _TokenGraph(Protocol):
    """A loaded graph with two outputs: vectors of tokens, and whether a text's are compared."""

    def each(self, ids: Sequence[Ids], run: Callable[[_Batch], None]) -> None: ...

    def run_all(self, ids: Ids) -> list[NDArray[np.generic]]: ...


class TokenVectorReranker(StoredReranker):
    """A reranker of the model store whose graph gives a vector for each token.

    A long text is read in windows, and all of their tokens are compared.
    """

    def __init__(self, folder: Path, card: ModelCard, graph: _TokenGraph) -> None:
        self.card = card
        self._tokens = load_model_tokenizer(folder, card)
        self._graph = graph

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores from 0 to 1, in order; a score depends on its text alone.

        Raises `ModelError` if the model gives a number that is not finite.
        """
        wanted, _ = self._embed([query], prefix=self.card.query_prefix)[0]
        windows = [self._split(text) for text in texts]
        flat = [window for each in windows for window in each]
        embedded = iter(self._embed(flat, prefix=self.card.passage_prefix))
        scores = np.empty(len(texts), np.float32)
        for row, each in enumerate(windows):
            best = np.full(len(wanted), -1, np.float32)
            for _ in each:
                vectors, is_compared = next(embedded)
                similarity = wanted @ vectors[is_compared].T
                best = np.maximum(best, similarity.max(axis=1, initial=-1))
            scores[row] = (1 + best.mean()) / 2
        if not np.isfinite(scores).all():
            raise ModelError(f"{self.card.name}: gave a vector that is not finite; add it again")
        clipped: NDArray[np.float32] = np.clip(scores, 0, 1)
        return clipped

    def _split(self, text: str) -> list[str]:
        """Return parts of a text that the model reads whole, at least one."""
        room = self.card.max_tokens
        starts = self._tokens.token_starts(text)[::room].tolist() or [0]
        return [text[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]

    def _embed(
        self, texts: Sequence[str], *, prefix: str
    ) -> list[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
        ids = self._tokens.encode(texts, prefix=prefix)
        found: dict[int, tuple[NDArray[np.float32], NDArray[np.bool_]]] = {}

        def run(batch: _Batch) -> None:
            rows, tokens = batch
            vectors, is_compared = self._graph.run_all(tokens)
            for at, row in enumerate(rows):
                found[row] = vectors[at].astype(np.float32), is_compared[at].astype(np.bool_)

        self._graph.each(ids, run)
        return [found[row] for row in range(len(ids))]


class TokenStateReranker(StoredReranker):
    """A reranker by the states of an embedder's tokens, which it has before it pools them.

    What all states have in common says nothing, so the mean of the query's and of the text's is
    subtracted from both. (Evidence: `models/reranker_multilingual`.) A text is truncated to what
    the embedder reads.
    """

    def __init__(self, card: ModelCard, tokens: ModelTokenizer, graph: _TokenGraph) -> None:
        self.card = card
        self._tokens = tokens
        self._graph = graph
        # The states of the last query: one search scores several batches of texts.
        self._asked: dict[str, NDArray[np.float32]] = {}

    @property
    def fingerprint(self) -> str:
        return f"states:{super().fingerprint}"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1), in order; a score depends on its text alone.

        Raises `ModelError` if the model gives a number that is not finite.
        """
        ids = [self._encode(text, prefix=self.card.passage_prefix) for text in texts]
        asked = self._asked.get(query)
        if asked is None:
            ids.append(self._encode(query, prefix=self.card.query_prefix))
        found: dict[int, NDArray[np.float32]] = {}

        def run(batch: _Batch) -> None:
            rows, tokens = batch
            found.update(zip(rows, self._graph.run_all(tokens)[-1].astype(np.float32), strict=True))

        self._graph.each(ids, run)
        if asked is None:
            asked = found[len(texts)]
            self._asked = {query: asked}
        scores = np.array([_max_sim(asked, found[row]) for row in range(len(texts))], np.float32)
        if not np.isfinite(scores).all():
            raise ModelError(f"{self.card.name}: gave a state that is not finite; add it again")
        return scores

    def has_states(self) -> bool:
        """Return whether the graph gives a state for each token, and not one of a text."""
        found: list[int] = []
        ids = [self._encode("states", prefix="")]
        self._graph.each(ids, lambda batch: found.append(self._graph.run_all(batch[1])[-1].ndim))
        return found == [3]

    def _encode(self, text: str, *, prefix: str) -> Ids:
        # As a query is: so short a text does not load the whole tokenizer, which takes a second.
        start = text[: QUERY_CHARS - len(prefix)]
        return self._tokens.encode([start], prefix=prefix, query=True)[0]


def _max_sim(query: NDArray[np.float32], text: NDArray[np.float32]) -> float:
    """Return (1 + s) / 2 for the mean s of the largest cosine of each of the query's states."""
    mean = (query.mean(axis=0) + text.mean(axis=0)) / 2
    cosines = _unit_rows(query - mean) @ _unit_rows(text - mean).T
    return float(np.clip((1 + cosines.max(axis=1).mean()) / 2, 1e-6, 1 - 1e-6))


def _unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = rows / np.maximum(np.linalg.norm(rows, axis=1)[:, None], 1e-9)
    return unit
