"""The handle on an index folder: what `crx.open` returns."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Literal

from crx import _native, registry
from crx.config import Resolved, Settings, fixed_settings, require_agreement, resolve
from crx.context.refresh import DEFAULT_REFRESH, Refresh
from crx.derived import OpenFiles, VectorFiles, Writer, verify_files
from crx.engine.address import is_engine_address, without_password
from crx.errors import UsageError
from crx.ingest.create import copy_index, create_index, is_complete, require_utf_8
from crx.ingest.file_systems import require_local_disk
from crx.per_process import PerProcess
from crx.protocols import Closeable, Contextualizer, Embedder, Generator, Reranker
from crx.retrieve.canaries import check_documents
from crx.retrieve.dense_languages import describe_unread_documents
from crx.retrieve.file_searcher import FileSearcher
from crx.retrieve.request import SearchRequest, Where
from crx.retrieve.search import run_search
from crx.retrieve.search_models import SearchModels
from crx.types import LEGS, Answer, Document, Leg, Result, Status, Verification, Window

if TYPE_CHECKING:
    from crx.answer.prompt import QuotedPassages
    from crx.answer.stream import AnswerStream
    from crx.context.cache import Origin
    from crx.context.exchange import Imported
    from crx.context.prompt import Prompt
    from crx.context.report import ContextProgress, ContextReport
    from crx.engine.opened import OpenEngine
    from crx.ingest.embedding_pool import EmbeddingPool
    from crx.ingest.indexer import Indexer
    from crx.ingest.report import Progress, Report


class Index:
    """An opened index; `crx.open` returns one.

    It may be used from several threads: searches go on while one thread writes. Reading takes no
    lock; writing holds the writer's lock until it is done. In a forked child it opens its files
    again at the first use.
    """

    def __init__(
        self, path: Path | str, resolved: Resolved, *, embedder: Embedder | None = None
    ) -> None:
        """`path` is a folder, or the URL of a database, which is opened for searching."""
        self._path = path
        self._settings = resolved.settings
        self._templates = resolved.templates
        self._files = PerProcess(partial(_open_files, path, VectorFiles.of(resolved.settings)))
        self._embedder = PerProcess(partial(_load_embedder, self.name, self._files), made=embedder)
        self._models = SearchModels(
            resolved.settings,
            embedder=self._embedder,
            load_reranker=partial(_load_reranker, resolved.settings.reranker),
        )
        self._built: Mapping[str, str] = self._files.get().settings()
        require_agreement(self.name, built=self._built, resolved=resolved)

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the files."""
        self._files.get().close()

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
        """The settings in effect, those of a search among them."""
        return self._settings

    @property
    def roots(self) -> tuple[str, ...]:
        """The paths of the files and folders that were added, and that `refresh` visits."""
        from crx.ingest.roots import read_root_paths

        return read_root_paths(self.store)

    @property
    def embedder(self) -> Embedder:
        """The embedder the index was built with, loaded on first use; raises `ModelError`."""
        return self._embedder.get()

    @property
    def search_models(self) -> SearchModels:
        """The models that a search runs, their caches, and the weights of its stages."""
        return self._models

    @property
    def reranker(self) -> Reranker:
        """The reranker that is set, or the shipped one, loaded on first use; `ModelError`."""
        return self._models.reranker

    def add(
        self,
        *paths: str | os.PathLike[str],
        contexts: str | None = None,
        exclude: Sequence[str] | None = None,
        rehash: bool = False,
        keep_missing: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> Report:
        """Make the index hold what files and folders hold; returns what was done.

        `exclude` are patterns as in a `.gitignore` at each path; they are remembered, and None is
        what is remembered. `contexts` is `none`, `outline`, a file of contexts, or `outline+FILE`;
        None is what the index was made with. Contexts that a model made before are kept if they
        still hold; `contextualize` makes new ones. `on_notice` is called with the host and the size
        before an embedder on another machine gets texts. `keep_missing` keeps the documents of
        files that are gone. Raises `Locked`, `UsageError`, `NoRoom`, `ModelError`.
        """
        _require(paths, str | os.PathLike, "add takes paths, each as an argument")
        places = [Path(os.path.abspath(path)) for path in paths]
        with self._indexing(contexts, on_progress, on_notice) as indexer:
            indexer.index_files(places, exclude=exclude, rehash=rehash, keep_missing=keep_missing)
        return indexer.report

    def refresh(
        self,
        *,
        contexts: str | None = None,
        rehash: bool = False,
        touched: Iterable[str | os.PathLike[str]] | None = None,
        keep_missing: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> Report:
        """Make the index hold what the files and folders that were added hold now; see `add`.

        `touched` limits this to what is at and below some paths.
        """
        from crx.ingest.touched import TouchedPaths

        limit = None if touched is None else TouchedPaths(touched)
        with self._indexing(contexts, on_progress, on_notice) as indexer:
            indexer.refresh(rehash=rehash, touched=limit, keep_missing=keep_missing)
        return indexer.report

    def add_documents(
        self,
        documents: Iterable[Document],
        *,
        contexts: str | None = None,
        keep_contexts: bool = True,
        on_progress: Callable[[Progress], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> Report:
        """Put documents that are not files; each replaces the one of its URI.

        Contexts that a model made before are kept where they still hold, if `keep_contexts`.
        """
        with self._indexing(
            contexts, on_progress, on_notice, keep_contexts=keep_contexts
        ) as indexer:
            indexer.index_documents(documents)
        return indexer.report

    def contextualize(
        self,
        with_: str | Contextualizer,
        *,
        budget: str = "",
        min_coverage: float = 0.0,
        refresh: Refresh = DEFAULT_REFRESH,
        prompt: Prompt | None = None,
        templates: Mapping[str, str] | None = None,
        workers: int = 0,
        workers_on: str = "",
        on_progress: Callable[[ContextProgress], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> ContextReport:
        """Give each chunk a context, in place and while searching goes on; returns what was done.

        `with_` is a contextualizer or a specification of one (see `crx.registry`). `budget` is a
        time such as `20m` (not for batches) or, for a service that charges, dollars such as `$2`;
        the rest waits for the next call. A contextualizer that is given brings its own prompt
        and its own cap of dollars. `refresh` says how far a change reaches contexts made before
        (see `crx.context.cache`). `templates` are prompt files for the documents below folders, by
        absolute path, the nearest folder's first; None: those of `[prompts]` in `crx.toml`.
        `workers` processes write contexts, a document each; 0: this one, or as many as the Ray
        cluster `workers_on` has room for. They load the model, so `with_` must be a specification.
        Beside them the contexts are embedded by the workers that the settings name, if any.
        `on_notice` is called with the host and the size before texts are sent to another machine;
        the notes of the report repeat it. Raises `ModelError` if less than `min_coverage` of the
        chunks have one in the end, besides what `add` raises.
        """
        from crx.context.archive import ContextArchive
        from crx.context.budget import Budget, parse_budget
        from crx.context.run import ContextRun

        limit = parse_budget(budget) if budget else Budget()
        with contextlib.ExitStack() as stack:
            # First: beside another writer no model is loaded.
            writer = stack.enter_context(self._writing())
            files = self._templates if templates is None else templates
            router = registry.load_router(
                with_,
                refresh=refresh,
                prompt=prompt,
                templates=files,
                cap_dollars=limit.dollars,
            )
            if isinstance(with_, str) and isinstance(router.general, Closeable):
                stack.callback(router.general.close)
            embedder = self.embedder
            pool, embedding_workers = None, None
            if workers or workers_on:
                from crx.jobs.open_workers import open_context_workers

                prompts = [prompt, *registry.read_prompts(prompt, templates=files).values()]
                pool = stack.enter_context(
                    open_context_workers(with_, router, prompts, count=workers, on=workers_on)
                )
                embedding_workers = stack.enter_context(self._open_workers())
            self._note_origins(writer.store, router.origins)
            report = ContextRun(
                writer.store,
                embedder=embedder,
                router=router,
                seconds=limit.seconds,
                archive=stack.enter_context(ContextArchive(self.path)),
                workers=pool,
                embedding_workers=embedding_workers,
                on_progress=on_progress,
                on_commit=writer.sync,
                on_notice=on_notice,
            ).run()
        report.require(min_coverage)
        return report

    def export_contexts(
        self, file: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None
    ) -> int:
        """Write the contexts to a file of JSON lines; returns how many there were.

        Documents below `root` (the current folder) are named by their path below it.
        """
        from crx.context.cache import read_origins
        from crx.context.exchange import export_contexts
        from crx.context.records import write_contexts

        origins = read_origins(self.store.settings())
        folder = Path(os.path.abspath(root or "."))
        return write_contexts(file, export_contexts(self.store, origins=origins, folder=folder))

    def import_contexts(
        self, file: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None
    ) -> Imported:
        """Give chunks the contexts of a file; returns which were linked, and which have no chunk.

        Raises `UsageError` where there is no such file, `InputError` where a line is no context.
        """
        from crx.context.cache import Origin
        from crx.context.exchange import import_contexts
        from crx.context.file_contexts import FileContexts

        contexts = FileContexts(Path(file))
        origin = Origin(contexts.fingerprint, DEFAULT_REFRESH)
        with self._writing() as writer:
            embedder = self.embedder
            self._note_origins(writer.store, (origin,))
            imported = import_contexts(
                writer.store,
                contexts.records,
                embedder=embedder,
                origin=origin,
                folder=Path(os.path.abspath(root or ".")),
            )
            writer.sync()
        return imported

    def remove(self, *uris: str) -> int:
        """Remove documents by URI; returns how many there were."""
        _require(uris, str, "remove takes URIs, each as an argument")
        with self._writing() as writer:
            removed = writer.store.remove_documents(list(uris))
            writer.sync()
        return removed

    def remove_matching(self, *names: str) -> dict[str, int]:
        """Remove documents by URI, path, folder or glob; returns how many for each name.

        Folders that were added and lie in a removed one are not refreshed any more.
        """
        from crx.ingest.remove import remove_matching

        with self._writing() as writer:
            removed = remove_matching(writer.store, names)
            writer.sync()
        return removed

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        window: Window = "auto",
        budget_tokens: int | None = None,
        where: Where | None = None,
        legs: Sequence[Leg] = LEGS,
        within_section: bool = False,
        order: Literal["score", "document"] = "score",
        rerank: bool | None = None,
    ) -> Result:
        """Return the passages that answer a query, best first.

        `window` is "auto" (the stretches worth most, within `budget_tokens` together), "grow"
        (each hit up to `window_tokens`), or how many chunks to add on each side.
        `where` filters documents: {"lang": "en"}, {"year": {">=": 2020}}, {"path": "/docs/**"}.
        `rerank` turns reranking on or off; None reranks a search of both legs if the setting
        `reranker` is not empty. A reranker that fails while it reads leaves the fused order, and
        a note.

        An embedder on a server that is down leaves BM25 alone, and a note, unless `legs` names the
        dense leg alone.

        The answer is that of one committed state of the index. Raises `ValueError` for an argument
        that is not valid (see `SearchRequest`), `ModelError` for a reranker that cannot be loaded,
        `UsageError` for a `min_relevance` without one.
        """
        request = SearchRequest(
            query=query,
            k=k,
            window=window,
            budget_tokens=budget_tokens,
            where=where,
            legs=legs,
            within_section=within_section,
            order=order,
        )
        has_vectors = registry.has_vectors(self._built, legs=legs, path=self.name)
        parameters = self._models.parameters(legs, has_vectors=has_vectors, rerank=rerank)
        with self._files.get().derived.searching() as (searcher, notes):
            result = run_search(request, parameters=parameters, searcher=searcher)
        return replace(result, notes=(*notes, *result.notes))

    def prompt(
        self,
        question: str,
        *,
        k: int | None = None,
        window: Window = "auto",
        where: Where | None = None,
    ) -> QuotedPassages:
        """Return the prompt that asks for an answer from the passages that `search` finds."""
        from crx.answer.prompt import quote

        result = self.search(question, k=k, window=window, where=where)
        return quote(question, result.passages, notes=result.notes)

    def corpus_prompt(self, question: str, *, where: Where | None = None) -> QuotedPassages:
        """Return the prompt that asks for an answer from the whole corpus, in a fixed order.

        Raises `UsageError` if the corpus is too long for a prompt.
        """
        from crx.answer.corpus import read_corpus
        from crx.answer.prompt import quote

        budget = self._settings.window_tokens
        passages = read_corpus(self.store, where=where, budget_tokens=budget)
        return quote(question, passages, shared=True)

    def ask(
        self,
        question: str | QuotedPassages,
        *,
        with_: str | Generator = "",
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Return the answer to a question, or to a prompt of `prompt` or `corpus_prompt`.

        `with_` is a generator or a specification of one (see `crx.registry`), by default the
        setting `generator`. `on_text` receives the text as it is generated. Raises `UsageError`
        if no generator is named, and `ModelError` if its answer breaks off.
        """
        answer = self.stream_answer(question, with_=with_)
        for text in answer:
            if on_text is not None:
                on_text(text)
        return answer.answer

    def stream_answer(
        self,
        question: str | QuotedPassages,
        *,
        with_: str | Generator = "",
        on_notice: Callable[[str], None] | None = None,
    ) -> AnswerStream:
        """Return the answer as an iterator over its text. See `ask`.

        `on_notice` is called with the host and the size before texts are sent to another machine;
        the notes of the answer repeat it.
        """
        from crx.answer.stream import AnswerStream

        generator = registry.require_named_generator(with_ or self._settings.generator)
        prompt = self.prompt(question) if isinstance(question, str) else question
        opened = partial(registry.open_generator, generator)
        return AnswerStream(prompt, opened, on_notice=on_notice)

    def status(self) -> Status:
        """Return what the index holds and what is still to be embedded."""
        with self._files.get().derived.searching() as (searcher, notes):
            unread = describe_unread_documents(self._built, langs=searcher.langs)
            return Status(
                path=self.name,
                counts=searcher.counts(),
                settings=self._built,
                notes=(*notes, unread) if unread else tuple(notes),
                failures=tuple(searcher.failures()),
                exact=searcher.exact,
                reranker=self._settings.reranker,
                lag=searcher.lag,
            )

    def verify(self, *, deep: bool = False) -> Verification:
        """Check every row against its hash; repair damaged vectors, then derived files.

        `deep` also looks up every chunk in BM25, whose files have checksums but no keyed hash.

        Derived files are left alone if other rows are damaged: they would be built from those.
        Damaged lines of the archive of contexts are removed; the next run of their model appends
        them again. A store that is older than its derived files, or that lost its write-ahead log,
        is accepted as it is. Raises `ModelError` if a vector is damaged and the embedder cannot be
        loaded.
        """
        files = self._files.get()
        if not isinstance(files, OpenFiles):
            raise UsageError(
                f"{self.name}: a database keeps checksums of its own; "
                '"crx copy" reads every document back'
            )
        found = verify_files(files, load_embedder=self._embedder.get, deep=deep)
        if found.repaired:
            self._reopen()
        return found if found.faults else self._verify_archive(found)

    def _verify_archive(self, found: Verification) -> Verification:
        from crx.context.archive import FILE, drop_damaged_lines, read_archive

        damaged = read_archive(self.path).damaged
        if not damaged:
            return found
        with self._writing():
            drop_damaged_lines(self.path)
        line = f"{self.path / FILE}: {damaged} damaged lines; removed"
        return replace(found, repaired=(*found.repaired, line))

    def check_canaries(self) -> None:
        """Look up a chunk of three documents in both legs; raises `Damaged` if one is not found.

        Vectors are looked up only if every chunk has one. Raises `ModelError` if the embedder
        cannot be loaded.
        """
        with self._open_folder().derived.searching() as (searcher, _):
            pending = bool(len(searcher.store.pending(limit=1)))
            check_documents(searcher, dimensions=0 if pending else self.embedder.dimensions)

    def rebuild(self) -> None:
        """Make the derived files anew from the store, without running a model; `Locked`, `NoRoom`.

        Searches of other processes go on with the files that they have opened.
        """
        self._open_folder().derived.rebuild()
        self._reopen()

    def backup(self, folder: str | os.PathLike[str]) -> Path:
        """Copy the index, as of the last commit, into a new folder; returns its path.

        The copy holds `crx.db` alone; its derived files are rebuilt when it is first searched. It
        may be taken while another process writes. Raises `UsageError` if the folder exists and is
        not empty, `NoRoom`.
        """
        target = Path(os.path.abspath(folder))
        copy_index(self.store, target)
        return target

    def gc(self, *, contexts: bool = False) -> dict[str, int]:
        """Drop vectors and texts (and contexts, if asked) that nothing points to.

        Contexts are dropped from their archive, too.
        """
        from crx.context.archive import drop_unused_contexts

        with self._writing() as writer:
            dropped = writer.store.gc(contexts=contexts)
            if contexts:
                drop_unused_contexts(self.path, writer.store)
        return dropped

    def _reopen(self) -> None:
        self.close()
        self._files.forget()

    @contextlib.contextmanager
    def searcher(self) -> Iterator[FileSearcher]:
        """Give both legs and the store in one read transaction, which ends with the block.

        The legs are brought up to the store if that is possible. Raises `UsageError` for an index
        in a database.
        """
        files = self._files.get()
        if not isinstance(files, OpenFiles):
            raise UsageError(f"{self.name}: is in a database; an evaluation needs an index folder")
        with files.derived.searching() as (searcher, _):
            yield searcher

    @contextlib.contextmanager
    def _indexing(
        self,
        contexts: str | None,
        on_progress: Callable[[Progress], None] | None,
        on_notice: Callable[[str], None] | None,
        *,
        keep_contexts: bool = True,
    ) -> Iterator[Indexer]:
        # Imported here: readers and their like are a third of what a search would import.
        from crx.context.cache import read_origins
        from crx.ingest.ignore import FolderPatterns
        from crx.ingest.indexer import Indexer
        from crx.ingest.worker.limits import ReadLimits

        sources = registry.load_context_sources(contexts or self._built["contexts"])
        with self._writing() as writer, self._open_workers() as workers:
            embedder = self.embedder
            self._record(writer.store, **registry.record_embedder(embedder))
            origins = read_origins(self._built) if keep_contexts else ()
            indexer = Indexer(
                writer.store,
                embedder=embedder,
                situator=replace(sources, origins=origins),
                chunk_tokens=int(self._built["chunk_tokens"]),
                chunk_chars=int(self._built["chunk_chars"]),
                chunk_overlap=int(self._built["chunk_overlap"]),
                max_file_mb=self._settings.max_file_mb,
                read_limits=ReadLimits(self._settings.read_seconds, self._settings.read_memory_mb),
                ocr=self._settings.ocr,
                skip_folders=FolderPatterns.parse(self._settings.skip_folders),
                workers=workers,
                on_progress=on_progress,
                on_commit=writer.sync,
                on_notice=on_notice,
            )
            yield indexer
            writer.publish()
            writer.check_canaries(indexer.last_put, dimensions=embedder.dimensions)

    @contextlib.contextmanager
    def _open_workers(self) -> Iterator[EmbeddingPool | None]:
        """Yield the workers that embed, None if this process does."""
        count, on = self._settings.workers, self._settings.workers_on
        embedder = self.embedder
        if not (count or on) or not embedder.dimensions:
            yield None
            return
        from crx.jobs.open_workers import open_embedding_workers

        spec = self._built["embedder"]
        with open_embedding_workers(spec, embedder, count=count, on=on) as workers:
            yield workers

    def _note_origins(self, store: _native.Store, origins: Iterable[Origin]) -> None:
        from crx.context.cache import with_origin

        for each in origins:
            origin = with_origin(store.settings(), each)
            self._record(store, **registry.record_embedder(self.embedder), **origin)

    def _record(self, store: _native.Store, **settings: str) -> None:
        """Record in the index what it is built with; another process may have done so, too."""
        self._built = {**store.settings(), **settings}
        store.set_settings(self._built)

    def _writing(self) -> contextlib.AbstractContextManager[Writer]:
        return self._open_folder().derived.writing()

    def _open_folder(self) -> OpenFiles:
        """Return the files of the folder; raises `UsageError` for an index in a database."""
        files = self._files.get()
        if not isinstance(files, OpenFiles):
            raise UsageError(
                f"{self.name}: this needs an index folder; work on one, and carry it over with "
                '"crx copy"'
            )
        return files


def _open_files(path: Path | str, vectors: VectorFiles) -> OpenFiles | OpenEngine:
    if isinstance(path, Path):
        return OpenFiles.open(path, vectors)
    # Imported here: an index folder needs no driver of a database.
    from crx.engine.opened import OpenEngine

    return OpenEngine.open(path)


def _require(values: Iterable[object], kind: type | UnionType, expected: str) -> None:
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(f"{expected}, not {type(value).__name__}")


def _load_embedder(name: str, files: PerProcess[OpenFiles | OpenEngine]) -> Embedder:
    return registry.load_embedder_of_index(name, built=files.get().settings())


def _load_reranker(spec: str) -> Reranker:
    return registry.load_reranker(spec or registry.SHIPPED_RERANKER)


def open(
    path: str | os.PathLike[str],
    *,
    create: bool = True,
    settings: Mapping[str, object] | None = None,
) -> Index:
    """Open an index folder, made with defaults where there is none (unless `create` is false).

    `path` may be the address of an engine, such as `postgresql://user@host/database`, that an index
    was copied to (see `crx copy`): it is searched as a folder is, and what writes raises
    `UsageError`.
    `settings` go before `CRX_*` variables, the project file and the user file. Raises `NotAnIndex`,
    `Incompatible` (built with other settings than asked for), `Damaged`, `NoRoom`, and `ModelError`
    for a new index whose embedder cannot be loaded; nothing is made then. Raises `SystemFailure`
    for a folder on a network file system, unless the setting `network_disk` is 1.
    """
    resolved = resolve(settings)
    if isinstance(path, str) and is_engine_address(path):
        return Index(path, resolved)
    folder = Path(os.path.abspath(path))
    require_utf_8(folder)
    if not resolved.settings.network_disk:
        require_local_disk(folder)
    if not create or is_complete(folder):
        return Index(folder, resolved)
    # Before anything is made: without its model, an index would be left behind empty.
    embedder = registry.load_embedder_of_new_index(resolved.settings.embedder)
    create_index(folder, fixed_settings(resolved.settings))
    return Index(folder, resolved, embedder=embedder)
