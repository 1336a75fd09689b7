"""The handle for reading an index: searches, models, status."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import orjson

from crx import _native, registry
from crx._index.file_searcher import FileSearcher
from crx._index.files import OpenFiles, OpenIndex
from crx._index.leg_files import VectorFiles
from crx._index.open_store import describe_unfinished_copy, require_utf_8
from crx._index.self_check import check_documents
from crx._per_process import PerProcess
from crx._show.marks import read_marks
from crx.config import Resolved, Settings, describe_other_defaults, resolve, settings_of_index
from crx.errors import UsageError
from crx.ingest.file_systems import require_local_disk
from crx.ingest.paths import candidate_uris
from crx.plugins import is_engine_address, load_shipped, without_password
from crx.protocols import Embedder, Reranker
from crx.retrieve.likeness import search_like
from crx.retrieve.request import SearchRequest, Where, mend_filter
from crx.types import LEGS, Document, Hit, Leg, Note, Passage, Result, Status, Window

if TYPE_CHECKING:
    from crx.retrieve.operators import Match
    from crx.retrieve.ports import StatusReader
    from crx.retrieve.search_models import SearchModels

_Reader = TypeVar("_Reader", bound="IndexReader")


class IndexReader:
    """An index opened for reading; `open_reader` returns one.

    It may be used from several threads. Reading takes no lock. In a forked child it opens its files
    again at the first use.
    """

    def __init__(
        self,
        path: Path | str,
        resolved: Resolved,
        *,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """`path` is a folder, or the URL of a database, which is opened for searching.

        `timeout_s` limits the wait of a write; see `crx.open`.
        """
        self._path = path
        self._timeout_s = timeout_s
        self._templates = resolved.templates
        self._descriptions = resolved.descriptions
        self._files = PerProcess(partial(_open_files, path, VectorFiles.of(resolved.settings)))
        self._built: Mapping[str, str] = self._files.get().settings()
        self._settings = settings_of_index(self.name, built=self._built, resolved=resolved)
        self._other_defaults = describe_other_defaults(self._built, resolved)
        if embedder is not None:
            registry.require_same_embedder(self.name, embedder, built=self._built)
        self._embedder = PerProcess(partial(_load_embedder, self.name, self._files), made=embedder)
        self._load_reranker = partial(_load_reranker, reranker or self._settings.reranker)
        self._models = PerProcess(self._make_models)

    def __enter__(self: _Reader) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the files. What is asked of the handle after that raises `UsageError`."""
        files = self._files.end(f"{self.name}: this handle was closed; open the index again")
        if files is not None:
            files.close()

    @property
    def path(self) -> Path:
        """The folder; raises `UsageError` for an index in a database."""
        if isinstance(self._path, str):
            raise UsageError(f"{self.name}: is in a database and has no folder")
        return self._path

    @property
    def name(self) -> str:
        """The path of the folder, or the URL of the database without a password."""
        return without_password(self._path) if isinstance(self._path, str) else str(self._path)

    @property
    def store(self) -> _native.Store:
        """The store, for reading; raises `UsageError` for an index in a database."""
        return self._open_folder().store

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings that the index was built with, by name."""
        return self._built

    @property
    def configuration(self) -> Settings:
        """The settings in effect, those of a search and those it was built with among them."""
        return self._settings

    @property
    def other_defaults(self) -> Sequence[str]:
        """A line for each default of the user's that is for new indexes and not for this one."""
        return tuple(self._other_defaults)

    @property
    def embedder(self) -> Embedder:
        """The embedder the index was built with, loaded on first use.

        Raises `ModelError`, and `Untrusted` if the user has not allowed the index to use it.
        """
        return self._embedder.get()

    @property
    def search_models(self) -> SearchModels:
        """The models that a search runs, their caches, and the weights of its stages."""
        return self._models.get()

    @property
    def reranker(self) -> Reranker:
        """The reranker that is set, or the shipped one, loaded on first use; `ModelError`."""
        return self.search_models.reranker

    def search(
        self,
        query: str = "",
        *,
        like: Passage | Hit | None = None,
        k: int | None = None,
        window: Window = "auto",
        budget_tokens: int | None = None,
        where: Where | None = None,
        legs: Sequence[Leg] = LEGS,
        within_section: bool = False,
        order: Literal["score", "document"] = "score",
        rerank: bool | None = None,
        match: Match = "words",
        without: Sequence[str] = (),
    ) -> Result:
        """Return the passages that answer a query, best first.

        With `like` instead of a query, they are those of other documents that are like a passage
        which was found, by words and by vectors; they are reranked only if `rerank` says so.
        `window` is "auto" (the stretches worth most, within `budget_tokens` together), "grow"
        (each hit up to `window_tokens`), or how many chunks to add on each side.
        `where` filters documents: {"lang": "en"}, {"year": {">=": 2020}}, {"path": "/docs/**"};
        fields in the query, such as `after:30d` of `crx search`, are words here.
        `rerank` turns reranking on or off; None reranks a search of both legs if the setting
        `reranker` is not empty. A reranker that fails while it reads leaves the fused order, and
        a note.

        A query such as `budget -draft -"first version"` leaves out passages with these words.
        `match` is "regex" for a regular expression, also written `re:PATTERN`, or "literal" for a
        text: then the answer is the chunks in which a match begins, in the order of documents,
        without any model. Case counts if the pattern has a capital.

        `without` names rules of the order that are left out, to see what each does: `code`,
        `copies`, `verbatim` and others (`crx.retrieve.search.RULES`).

        An embedder on a server that is down, or whose weights are not installed, leaves BM25 alone,
        and a note, unless `legs` names the dense leg alone.

        The answer is that of one committed state of the index. Raises `ValueError` for an argument
        that is not valid (see `SearchRequest`), `ModelError` for a reranker that cannot be loaded,
        `UsageError` for a `min_relevance` without one.
        """
        if like is not None:
            if query:
                raise ValueError("search for a query or like a passage, not both")
            hit = like.hits[0] if isinstance(like, Passage) else like
            if not isinstance(hit, Hit):
                raise ValueError(f"like must be a passage or a hit, not {type(hit).__name__}")
            found = search_like(hit.text, uri=hit.uri, where=where, rerank=rerank)
            query, where, without = found.query, found.where, (*without, *found.without)
        request = SearchRequest(
            query=query,
            k=k,
            window=window,
            budget_tokens=budget_tokens,
            where=where,
            legs=legs,
            within_section=within_section,
            order=order,
            rerank=rerank,
            match=match,
            without=without,
        )
        return self.run(request)

    def run(self, request: SearchRequest) -> Result:
        """Return the passages that answer a request; see `search`."""
        with self._files.get().searching() as (searcher, notes):
            has_vectors = self.uses_vectors(request.legs, [searcher])
            result = self.search_models.search(request, searcher, has_vectors=has_vectors)
            empty = describe_empty(result, [searcher])
        before = [*self._copy_notes(), *notes]
        if not before and not empty:
            return result
        return replace(result, notes=(*map(Note.of, before), *result.notes, *empty))

    def get(self, uri: str | os.PathLike[str]) -> Document | None:
        """Return the document of a URI or a path, None if the index has none."""
        rows = map(self.store.document, candidate_uris(os.fspath(uri)))
        row = next(filter(None, rows), None)
        return None if row is None else self._read_document(row)

    def documents(self, *, where: Where | None = None) -> Iterator[Document]:
        """Yield the documents that meet a filter (see `search`), in order of their URIs."""
        store = self.store
        wanted = store.select(orjson.dumps(mend_filter(where)).decode()) if where else None
        for row in store.documents():
            if wanted is None or row.doc in wanted:
                yield self._read_document(row)

    def _read_document(self, row: _native.DocumentRow) -> Document:
        return Document(
            uri=row.uri,
            text=self.store.text(row.doc),
            title=row.title,
            lang=row.lang,
            metadata=orjson.loads(row.metadata),
            marks=tuple(read_marks(self.store.marks(row.doc))),
        )

    def uses_vectors(self, legs: Sequence[Leg], searchers: Sequence[StatusReader]) -> bool:
        """Return whether a search of some states, by the models of this index, uses vectors.

        No model is loaded for vectors that are not there yet. Raises `UsageError` if the dense leg
        alone is asked for and the index has no embedder.
        """
        if not registry.has_vectors(self._built, legs=legs, path=self.name):
            return False
        return "bm25" not in legs or any(each.has_vectors for each in searchers)

    def _make_models(self) -> SearchModels:
        from crx.retrieve.search_models import SearchModels  # of no use to who writes an index

        return SearchModels(
            self._settings,
            embedder=self._embedder,
            load_reranker=self._load_reranker,
            load_rules=partial(registry.load_rules, self._settings.rules),
        )

    def _copy_notes(self) -> list[str]:
        """Return a note if a copy has filled the index in part, as far as is known now."""
        if not describe_unfinished_copy(self._built, name=self.name):
            return []
        return describe_unfinished_copy(self._files.get().settings(), name=self.name)

    @contextlib.contextmanager
    def searching(self) -> Iterator[tuple[FileSearcher, list[str]]]:
        """Give `searcher`, and notes on what the state lacks, one line each."""
        with self._open_folder().searching() as (searcher, notes):
            yield searcher, [*self._copy_notes(), *notes]

    @contextlib.contextmanager
    def searcher(self) -> Iterator[FileSearcher]:
        """Give both legs and the store in one read transaction, which ends with the block.

        The legs are brought up to the store if that is possible. Raises `UsageError` for an index
        in a database.
        """
        files = self._files.get()
        if not isinstance(files, OpenFiles):
            raise UsageError(f"{self.name}: is in a database; an evaluation needs an index folder")
        with files.searching() as (searcher, _):
            yield searcher

    def status(self) -> Status:
        """Return what the index holds and what is still to be embedded."""
        with self._files.get().searching() as (searcher, notes):
            unread = registry.describe_unread_documents(self._built, langs=searcher.langs)
            return Status(
                path=self.name,
                counts=searcher.counts(),
                settings=self._built,
                notes=(*self._copy_notes(), *notes, *([unread] if unread else [])),
                failures=tuple(searcher.failures()),
                exact=searcher.exact,
                reranker=self._settings.reranker,
                lag=searcher.lag,
            )

    def check_findable(self) -> None:
        """Look up a chunk of three documents in both legs; raises `Damaged` if one is not found.

        Vectors are looked up only if every chunk has one. Raises `ModelError` if the embedder
        cannot be loaded.
        """
        with self._open_folder().searching() as (searcher, _):
            pending = bool(len(searcher.store.pending(limit=1)))
            check_documents(searcher, dimensions=0 if pending else self.embedder.dimensions)

    def _open_folder(self) -> OpenFiles:
        """Return the files of the folder; raises `UsageError` for an index in a database."""
        files = self._files.get()
        if not isinstance(files, OpenFiles):
            raise UsageError(
                f"{self.name}: this needs an index folder; work on one, and carry it over with "
                '"crx copy"'
            )
        return files


def describe_empty(result: Result, searchers: Sequence[StatusReader]) -> list[Note]:
    """Return a note if nothing was found because the indexes hold no documents."""
    if result.passages or any(each.counts()["documents"] for each in searchers):
        return []
    which = "the index holds" if len(searchers) == 1 else "the indexes hold"
    return [Note(f'nothing found: {which} no documents; "crx index PATH" adds some', "nothing")]


def open_reader(
    path: str | os.PathLike[str], *, settings: Mapping[str, object] | None = None
) -> IndexReader:
    """Open an index for reading; see `crx.open`, which also writes.

    Raises `NotAnIndex` if there is none, and what `crx.open` raises.
    """
    resolved = resolve(settings)
    return IndexReader(check_location(path, resolved.settings), resolved)


def check_location(path: str | os.PathLike[str], settings: Settings) -> Path | str:
    """Return the absolute path of an index folder, or the URL of a database as it is.

    Raises `UsageError` for a path that is not UTF-8, and `SystemFailure` for a folder on a network
    file system, unless the setting `network_disk` is 1.
    """
    if isinstance(path, str) and is_engine_address(path):
        return path
    folder = Path(os.path.abspath(path))
    require_utf_8(folder)
    if not settings.network_disk:
        require_local_disk(folder)
    return folder


def _open_files(path: Path | str, vectors: VectorFiles) -> OpenIndex:
    if isinstance(path, Path):
        return OpenFiles.open(path, vectors)
    opened: OpenIndex = load_shipped("crx.openers", "database", address=path)(path)
    return opened


def _load_embedder(name: str, files: PerProcess[OpenIndex]) -> Embedder:
    return registry.load_embedder_of_index(name, built=files.get().settings())


def _load_reranker(given: str | Reranker) -> Reranker:
    if isinstance(given, str):
        return registry.load_reranker(given or registry.SHIPPED_RERANKER)
    return given
