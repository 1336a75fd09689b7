"""A plugin of `llm`: passages as fragments and as a tool, and the embedder.

    llm -f 'crx:when may either party end it?' 'Answer from these passages, with their numbers.'
    llm -T crx_search 'What do our contracts say about ending them?'
    llm embed -m crx -c 'a text'

The index is that of `CRX_INDEX`, else the nearest `.crx`, as for `crx search`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

import llm

from crx._index.nearest_index import nearest_index
from crx._index.reader import IndexReader, open_reader
from crx._show.copies import leave_out_copies
from crx.errors import UsageError
from crx.protocols import Embedder
from crx.types import Passage

NAME = "crx"


class _RegisterLoader(Protocol):
    def __call__(self, prefix: str, loader: Callable[[str], Sequence[llm.Fragment]], /) -> None: ...


@llm.hookimpl
def register_fragment_loaders(register: _RegisterLoader) -> None:
    """Add the fragments `crx:QUERY`."""
    register(NAME, load_fragments)


@llm.hookimpl
def register_tools(register: Callable[[Callable[..., object]], None]) -> None:
    """Add the tool `crx_search`."""
    register(crx_search)


@llm.hookimpl
def register_embedding_models(register: Callable[[llm.EmbeddingModel], None]) -> None:
    """Add the embedder of the index as the model `crx`."""
    register(CrxEmbeddingModel())


def load_fragments(query: str) -> list[llm.Fragment]:
    """Return the passages that answer a query, best first, each with its location."""
    with _open_index() as index:
        return [
            llm.Fragment(_quote(passage, number), source=passage.uri)
            for number, passage in enumerate(_search(index, query), start=1)
        ]


def crx_search(query: str) -> str:
    """Search the user's own documents; returns passages with their paths and lines.

    The query is words, a question, an identifier or an error message.
    """
    with _open_index() as index:
        found = [_quote(each, number) for number, each in enumerate(_search(index, query), 1)]
    return "\n\n".join(found) or "nothing found"


class CrxEmbeddingModel(llm.EmbeddingModel):
    """The embedder of the index; texts are embedded as passages."""

    model_id = NAME
    batch_size = 32

    def embed_batch(self, items: Iterable[str | bytes]) -> Iterator[list[float]]:
        """Yield the unit vector of each text."""
        texts = [item if isinstance(item, str) else item.decode() for item in items]
        vectors: Any = self._embedder.embed(texts)
        yield from vectors.tolist()

    @cached_property
    def _embedder(self) -> Embedder:
        """The embedder, loaded once for all batches."""
        with _open_index() as index:
            return index.embedder


def _search(index: IndexReader, query: str) -> Sequence[Passage]:
    return leave_out_copies(index.search(query).passages, query=query)


def _quote(passage: Passage, number: int) -> str:
    lines = "" if passage.lines is None else f", lines {passage.lines[0]}-{passage.lines[1]}"
    pages = "" if passage.pages is None else f", pages {passage.pages[0]}-{passage.pages[1]}"
    return f"[{number}] {passage.uri}{lines}{pages}\n{passage.text}"


def _open_index() -> IndexReader:
    folder = os.environ.get("CRX_INDEX") or nearest_index(os.getcwd())
    if not folder:
        raise UsageError('no index here or above; "crx index PATH" makes one, or set CRX_INDEX')
    return open_reader(folder)
