"""The handle on an index that is read and maintained: what `crx.open` returns."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from crx import _context, _native, context_registry, registry
from crx._context.cache import DEFAULT_REFRESH, Origin, Refresh, read_origins, with_origin
from crx._index.answering import AnsweringIndex
from crx._index.files import OpenFiles
from crx._index.open_store import copy_index, create_index, is_complete, open_store
from crx._index.reader import check_location
from crx._index.verify import rebuild_files, verify_archive, verify_files
from crx._index.writer import Writer
from crx.config import allow, allow_copy, fixed_settings, require_allowed, resolve
from crx.errors import UsageError
from crx.ingest._worker.messages import ReadLimits
from crx.ingest.ignore import FolderPatterns
from crx.ingest.indexer import Indexer
from crx.ingest.path_selection import PathSelection
from crx.ingest.remove import remove_matching
from crx.ingest.report import Progress, Report
from crx.ingest.roots import read_root_paths, remembered_acts, require_allowed_roots
from crx.plugins import load_shipped
from crx.protocols import Closeable, Contextualizer, Embedder, Reranker
from crx.types import Document, Verification

if TYPE_CHECKING:
    from crx._context.exchange import Imported
    from crx._context.report import ContextProgress, ContextReport
    from crx._services.prompt import Prompt
    from crx.ingest.embed_pending import MadeVectors
    from crx.ingest.embedding_pool import EmbeddingPool


class Index(AnsweringIndex):
    """An opened index; `crx.open` returns one.

    It may be used from several threads: searches go on while one thread writes. Reading takes no
    lock; writing holds the writer's lock until it is done. In a forked child it opens its files
    again at the first use.
    """

    @property
    def roots(self) -> tuple[str, ...]:
        """The paths of the files and folders that were added, and that `refresh` visits."""
        return read_root_paths(self.store)

    def require_allowed_roots(self) -> None:
        """Raise `Untrusted` if a path of `roots` may not be read: see `crx.ingest.roots`."""
        require_allowed_roots(self.store)

    def acts(self) -> list[str]:
        """Return what the index does outside its folder, if the user allows it; see `crx trust`."""
        roots = [] if isinstance(self._path, str) else remembered_acts(self.store)
        return [*context_registry.index_acts(self._built), *roots]

    def add(
        self,
        *paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        contexts: str | None = None,
        exclude: Sequence[str] | None = None,
        rehash: bool = False,
        keep_missing: bool = False,
        words_only: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> Report:
        """Make the index hold what files and folders hold; returns what was done.

        A path may also be a sequence of paths. All files are read first, and can then be searched
        by their words; after that, their chunks are embedded. `words_only` leaves that to `embed`.
        `on_progress` gets a `Progress`, whose `step` names the pass.

        `exclude` are patterns as in a `.gitignore` at each path; they are remembered, and None is
        what is remembered. `contexts` is `none`, `outline`, a file of contexts, or `outline+FILE`;
        None is what the index was made with. Contexts that a model made before are kept if they
        still hold; `contextualize` makes new ones. `on_notice` is called with the host and the size
        before an embedder on another machine gets texts. `keep_missing` keeps the documents of
        files that are gone. Raises `Locked`, `UsageError`, `NoRoom`, `ModelError`.
        """
        absolute = [Path(os.path.abspath(path)) for path in _each_path(paths)]
        with self._indexing(contexts, on_progress, on_notice, words_only=words_only) as indexer:
            indexer.index_files(absolute, exclude=exclude, rehash=rehash, keep_missing=keep_missing)
        return indexer.report

    def refresh(
        self,
        *,
        contexts: str | None = None,
        rehash: bool = False,
        only: Iterable[str | os.PathLike[str]] | None = None,
        keep_missing: bool = False,
        words_only: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> Report:
        """Make the index hold what the files and folders that were added hold now; see `add`.

        `only` limits this to what is at and below some paths.
        """
        limit = None if only is None else PathSelection(only)
        with self._indexing(contexts, on_progress, on_notice, words_only=words_only) as indexer:
            indexer.refresh(rehash=rehash, only=limit, keep_missing=keep_missing)
        return indexer.report

    def add_documents(
        self,
        documents: Iterable[Document],
        *,
        contexts: str | None = None,
        keep_contexts: bool = True,
        words_only: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> Report:
        """Put documents that are not files; each replaces the one of its URI.

        Contexts that a model made before are kept where they still hold, if `keep_contexts`.
        `words_only` is that of `add`.
        """
        with self._indexing(
            contexts, on_progress, on_notice, keep_contexts=keep_contexts, words_only=words_only
        ) as indexer:
            indexer.index_documents(documents)
        return indexer.report

    def embed(
        self,
        *,
        budget: str = "",
        on_progress: Callable[[Progress], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> Report:
        """Embed chunks that lack their vector, those first that gain most; returns what was done.

        `budget` is a time such as `10m`, after which the rest is left to the next call; "" is no
        limit. `pending` of the report is how many chunks are left. Raises as `add` does.
        """
        limit = _context.budget.parse_budget(budget) if budget else _context.budget.Budget()
        if limit.dollars < math.inf:
            raise UsageError(f"{budget}: embedding takes a time, such as 10m")
        with self._indexing("none", on_progress, on_notice) as indexer:
            indexer.embed(seconds=limit.seconds)
        return indexer.report

    @property
    def is_searching(self) -> bool:
        """Whether a search of this process reads the index now."""
        return self._open_folder().snapshots.is_searching

    def make_vectors(self, *, seconds: float, go_on: Callable[[], bool]) -> MadeVectors:
        """Embed pending chunks for some seconds and while `go_on` returns True; stores nothing.

        The writer's lock is not taken. Raises `ModelError`.
        """
        from crx.ingest.embed_pending import make_vectors  # of no use to `add`

        # A store of its own: a search would wait for one that this thread of low priority holds.
        with contextlib.closing(open_store(self.path)) as store:
            return make_vectors(store, self.embedder, seconds=seconds, go_on=go_on)

    def put_vectors(self, made: MadeVectors) -> None:
        """Store vectors that were made; raises `Locked`, `NoRoom`."""
        with self._writing() as writer:
            writer.store.put_vectors(list(made.keys), made.rows)
            writer.sync()

    def contextualize(
        self,
        with_: str | Contextualizer,
        *,
        budget: str = "",
        min_coverage: float = 0.0,
        refresh: Refresh = DEFAULT_REFRESH,
        retry_rejected: bool = False,
        prompt: Prompt | None = None,
        templates: Mapping[str, str] | None = None,
        workers: int = 0,
        workers_on: str = "",
        on_progress: Callable[[ContextProgress], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> ContextReport:
        """Give each chunk a context while searching goes on; returns what was done.

        `with_` is a contextualizer or a specification of one (see `crx.registry`). `budget` is a
        time such as `20m` (not for batches) or, for a service that charges, dollars such as `$2`;
        the rest waits for the next call. A contextualizer that is given brings its own prompt
        and its own cap of dollars. `refresh` says how far a change reaches contexts made before
        (see `crx._context.cache`). With `retry_rejected`, contexts that validation rejected in
        earlier runs are asked for again. `templates` are prompt files for the documents below
        folders, by absolute path, the nearest folder's first; None: those of `[prompts]` in
        `crx.toml`.
        `workers` processes write contexts, a document each; 0: this one, or as many as the Ray
        cluster `workers_on` has room for. They load the model, so `with_` must be a specification.
        Beside them the contexts are embedded by the workers that the settings name, if any.
        `on_notice` is called with the host and the size before texts are sent to another machine;
        the notes of the report repeat it. Raises `ModelError` if less than `min_coverage` of the
        chunks have one in the end, besides what `add` raises.
        """
        # What is loaded takes time of the budget, too.
        began = time.monotonic()
        limit = _context.budget.parse_budget(budget) if budget else _context.budget.Budget()
        with contextlib.ExitStack() as stack:
            # First: beside another writer no model is loaded.
            writer = stack.enter_context(self._writing())
            files = self._templates if templates is None else templates
            router = context_registry.load_router(
                with_, refresh=refresh, prompt=prompt, templates=files, cap_dollars=limit.dollars
            )
            if isinstance(with_, str) and isinstance(router.general, Closeable):
                stack.callback(router.general.close)
            embedder = self.embedder
            pool, embedding_workers = None, None
            if workers or workers_on:
                prompts = [prompt, *context_registry.read_prompts(prompt, templates=files).values()]
                pools = load_shipped("crx.pools", "workers")
                pool = stack.enter_context(
                    pools.open_context_workers(with_, router, prompts, count=workers, on=workers_on)
                )
                embedding_workers = stack.enter_context(self._open_workers())
            self._note_origins(writer.store, router.origins)
            report = _context.run.ContextRun(
                writer.store,
                embedder=embedder,
                router=router,
                seconds=limit.seconds,
                began=began,
                retry_rejected=retry_rejected,
                archive=stack.enter_context(_context.archive.ContextArchive(self.path)),
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
        origins = read_origins(self.store.settings())
        folder = Path(os.path.abspath(root or "."))
        exported = _context.exchange.export_contexts(self.store, origins=origins, folder=folder)
        return _context.records.write_contexts(file, exported)

    def import_contexts(
        self, file: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None
    ) -> Imported:
        """Give chunks the contexts of a file; returns which were linked, and which have no chunk.

        Raises `UsageError` where there is no such file, `InputError` where a line is no context.
        """
        contexts = _context.records.FileContexts(Path(file))
        origin = Origin(contexts.fingerprint, DEFAULT_REFRESH)
        with self._writing() as writer:
            embedder = self.embedder
            self._note_origins(writer.store, (origin,))
            imported = _context.exchange.import_contexts(
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
        for uri in uris:
            if not isinstance(uri, str):
                raise TypeError(f"remove takes URIs, each as an argument, not {type(uri).__name__}")
        with self._writing() as writer:
            removed = writer.store.remove_documents(list(uris))
            writer.sync()
        return removed

    def remove_matching(self, *names: str) -> dict[str, int]:
        """Remove documents by URI, path, folder or glob; returns how many for each name.

        Folders that were added and lie in a removed one are not refreshed any more.
        """
        with self._writing() as writer:
            removed = remove_matching(writer.store, names)
            writer.sync()
        return removed

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
        return found if found.faults else verify_archive(files, found)

    def rebuild(self) -> None:
        """Make the derived files anew from the store, without running a model; `Locked`, `NoRoom`.

        Searches of other processes go on with the files that they have opened.
        """
        rebuild_files(self._open_folder())
        self._reopen()

    def backup(self, folder: str | os.PathLike[str]) -> Path:
        """Copy the index, in its last committed state, into a new folder; returns its path.

        The copy holds `crx.db` alone; its derived files are rebuilt when it is first searched. It
        may be taken while another process writes. Raises `UsageError` if the folder exists and is
        not empty, `NoRoom`.
        """
        target = Path(os.path.abspath(folder))
        copy_index(self.store, target)
        allow_copy(self.name, str(target), self.acts())
        return target

    def gc(self, *, contexts: bool = False) -> dict[str, int]:
        """Drop vectors and texts (and contexts, if asked) that nothing points to.

        Contexts are dropped from their archive, too.
        """
        with self._writing() as writer:
            dropped = writer.store.gc(contexts=contexts)
            if contexts:
                _context.archive.drop_unused_contexts(self.path, writer.store)
        return dropped

    def _reopen(self) -> None:
        self._files.get().close()
        self._files.forget()

    @contextlib.contextmanager
    def _indexing(
        self,
        contexts: str | None,
        on_progress: Callable[[Progress], None] | None,
        on_notice: Callable[[str], None] | None,
        *,
        keep_contexts: bool = True,
        words_only: bool = False,
    ) -> Iterator[Indexer]:
        if not contexts:
            require_allowed(self.name, context_registry.context_acts(self._built["contexts"]))
        sources = context_registry.load_context_sources(contexts or self._built["contexts"])
        with contextlib.ExitStack() as stack:
            # First: beside another writer no model is loaded.
            writer = stack.enter_context(self._writing())
            workers = None if words_only else stack.enter_context(self._open_workers())
            embedder = self.embedder
            self._record(writer.store, **registry.record_embedder(embedder))
            origins = read_origins(self._built) if keep_contexts else ()
            indexer = Indexer(
                writer.store,
                embedder=embedder,
                situator=replace(sources, origins=origins),
                chunk_tokens=self._settings.chunk_tokens,
                chunk_chars=self._settings.chunk_chars,
                chunk_overlap=self._settings.chunk_overlap,
                max_file_mb=self._settings.max_file_mb,
                read_limits=ReadLimits(self._settings.read_seconds, self._settings.read_memory_mb),
                ocr=self._settings.ocr,
                skip_folders=FolderPatterns.parse(self._settings.skip_folders),
                workers=workers,
                words_only=words_only,
                descriptions=self._descriptions,
                on_progress=on_progress,
                on_commit=writer.sync,
                on_notice=on_notice,
            )
            yield indexer
            writer.publish()
            has_vectors = not indexer.report.pending
            writer.check_findable(
                indexer.last_put, dimensions=embedder.dimensions if has_vectors else 0
            )

    def _open_workers(self) -> contextlib.AbstractContextManager[EmbeddingPool | None]:
        """Open the workers that embed, None if this process does."""
        count, on = self._settings.workers, self._settings.workers_on
        if not (count or on) or not self.embedder.dimensions:
            return contextlib.nullcontext()
        opened: contextlib.AbstractContextManager[EmbeddingPool] = load_shipped(
            "crx.pools", "workers"
        ).open_embedding_workers(self._built["embedder"], self.embedder, count=count, on=on)
        return opened

    def _note_origins(self, store: _native.Store, origins: Iterable[Origin]) -> None:
        for each in origins:
            origin = with_origin(store.settings(), each)
            self._record(store, **registry.record_embedder(self.embedder), **origin)

    def _record(self, store: _native.Store, **settings: str) -> None:
        """Record in the index what it is built with; another process may have done so, too."""
        self._built = {**store.settings(), **settings}
        store.set_settings(self._built)

    def _writing(self) -> contextlib.AbstractContextManager[Writer]:
        return self._open_folder().writing(timeout_s=self._timeout_s)


def open(
    path: str | os.PathLike[str],
    *,
    create: bool = True,
    settings: Mapping[str, object] | None = None,
    timeout: float | None = None,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
) -> Index:
    """Open an index folder, made with defaults where there is none (unless `create` is false).

    `timeout` limits the seconds that a write waits for another one; None waits for threads of this
    process, and for no other process. `embedder` and `reranker` are objects of your own (see
    `crx.protocols`); such an index is opened with an embedder of the same `fingerprint` again.

    `path` may be the address of an engine, such as `postgresql://user@host/database`, that an index
    was copied to (see `crx copy`): it is searched as a folder is, and what writes raises
    `UsageError`.
    `settings` go before `CRX_*` variables, the project file and the user file. What is fixed when
    an index is made comes from the index itself. Raises `NotAnIndex`, `Incompatible` (built with
    others than `settings` ask for), `Damaged`, `NoRoom`, and `ModelError` for a new index whose
    embedder cannot be loaded; nothing is made then. What a new index is made with is allowed to it,
    as by `crx trust`. Raises `SystemFailure` for a folder on a network file system, unless the
    setting `network_disk` is 1.
    """
    own = {} if embedder is None else {"embedder": registry.OWN_EMBEDDER}
    resolved = resolve({**(settings or {}), **own})
    folder = check_location(path, resolved.settings)
    if isinstance(folder, str) or not create or is_complete(folder):
        return Index(folder, resolved, embedder=embedder, reranker=reranker, timeout_s=timeout)
    # Before anything is made: without its model, an index would be left behind empty.
    if embedder is None:
        embedder = registry.load_embedder_of_new_index(resolved.settings.embedder)
    create_index(folder, fixed_settings(resolved.settings))
    allow(str(folder), context_registry.index_acts(fixed_settings(resolved.settings)))
    return Index(folder, resolved, embedder=embedder, reranker=reranker, timeout_s=timeout)


def _each_path(
    paths: Iterable[str | os.PathLike[str] | Iterable[str | os.PathLike[str]]],
) -> Iterator[str | os.PathLike[str]]:
    """Yield paths, also those of the sequences among them; raises `TypeError` for anything else."""
    for given in paths:
        among = [given] if isinstance(given, str | os.PathLike | bytes) else given
        if not isinstance(among, Iterable):
            raise TypeError(f"add takes paths, not {type(given).__name__}")
        for path in among:
            if not isinstance(path, str | os.PathLike):
                raise TypeError(f"add takes paths, not {type(path).__name__}")
            yield path
