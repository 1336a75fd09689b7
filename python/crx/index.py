"""The handle on an index folder: what `crx.open` returns."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias
from weakref import WeakSet

import orjson

from crx import _native
from crx.config import ARGUMENT, Resolved, Settings, describe, resolve
from crx.context.cache import DEFAULT_REFRESH, Origin, Refresh, read_origins, with_origin
from crx.derived import DerivedFiles, Legs, WriteAccess, Writer, fact
from crx.errors import Incompatible, ModelError, NotAnIndex, UsageError
from crx.ingest.located_store import open_store
from crx.ingest.paths import escape_path
from crx.protocols import Closeable, Contextualizer, Embedder, Generator, Reranker
from crx.retrieve.arguments import check_search
from crx.retrieve.filter_fields import describe_missing_fields
from crx.retrieve.rerank import ScoreCache
from crx.retrieve.search import LEGS, Leg, RankingWeights, Reranking, Result, Searcher, Window
from crx.types import Answer, Document, Status, Verification

if TYPE_CHECKING:
    from crx.answer.prompt import QuotedPassages
    from crx.answer.stream import AnswerStream
    from crx.context.exchange import Imported
    from crx.context.prompt import Prompt
    from crx.context.report import ContextProgress, ContextReport
    from crx.context.routing import ContextRouter
    from crx.ingest.indexer import Indexer
    from crx.ingest.report import Progress, Report

Condition: TypeAlias = (
    str | int | float | bool | Sequence[str | int | float | bool] | Mapping[str, object]
)
Where: TypeAlias = Mapping[str, Condition]

# The embedder of an index that is searched with BM25 alone.
NO_EMBEDDER = "none"
# Searches of one call that may meet a document which a writer replaces meanwhile.
SEARCH_TRIES = 3

_FIXED = tuple(each.name for each in describe() if each.scope == "index")


class Index:
    """An opened index; `crx.open` returns one.

    It may be used from several threads: searches go on while one thread writes. Reading takes no
    lock; writing holds the writer's lock until it is done. In a forked child it opens its files
    again at the first use.
    """

    def __init__(self, path: Path, resolved: Resolved, *, embedder: Embedder | None = None) -> None:
        self.path = path
        self._settings = resolved.settings
        self._templates = resolved.templates
        self._loading = threading.RLock()
        self._opened: tuple[_native.Store, DerivedFiles] | None = None
        self._embedder = embedder
        self._reranker: Reranker | None = None
        self._scores = ScoreCache()
        self._searcher: tuple[Legs, Searcher] | None = None
        self._fixed = _agree(path, self.store.settings(), resolved)
        _OPEN.add(self)

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the files."""
        store, derived = self._files()
        self._searcher = None
        derived.close()
        store.close()

    @property
    def store(self) -> _native.Store:
        """The store, for reading."""
        return self._files()[0]

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings that the index was built with, by name."""
        return self._fixed

    @property
    def embedder(self) -> Embedder:
        """The embedder the index was built with, loaded on first use; raises `ModelError`."""
        with self._loading:
            if self._embedder is None:
                self._embedder = self._load_embedder()
            return self._embedder

    @property
    def reranker(self) -> Reranker:
        """The reranker that is set, or the shipped one, loaded on first use; `ModelError`."""
        with self._loading:
            if self._reranker is None:
                from crx.registry import SHIPPED_RERANKER, load_reranker

                self._reranker = load_reranker(self._settings.reranker or SHIPPED_RERANKER)
            return self._reranker

    def add(
        self,
        *paths: str | os.PathLike[str],
        contexts: str | None = None,
        exclude: Sequence[str] | None = None,
        rehash: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Report:
        """Make the index hold what files and folders hold; returns what was done.

        `exclude` are patterns as in a `.gitignore` at each path; they are remembered, and None is
        what is remembered. `contexts` is `none`, `outline`, a file of contexts, or `outline+FILE`;
        None is what the index was made with. Contexts that a model made before are kept if they
        still hold; `contextualize` makes new ones. Raises `Locked`, `UsageError`, `NoRoom`,
        `ModelError`.
        """
        places = [Path(os.path.abspath(path)) for path in paths]
        with self._indexing(contexts, on_progress) as indexer:
            indexer.index_files(places, exclude=exclude, rehash=rehash)
        return indexer.report

    def refresh(
        self,
        *,
        contexts: str | None = None,
        rehash: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Report:
        """Make the index hold what the files and folders that were added hold now; see `add`."""
        with self._indexing(contexts, on_progress) as indexer:
            indexer.refresh(rehash=rehash)
        return indexer.report

    def add_documents(
        self,
        documents: Iterable[Document],
        *,
        contexts: str | None = None,
        keep_contexts: bool = True,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Report:
        """Put documents that are not files; each replaces the one of its URI.

        Contexts that a model made before are kept where they still hold, if `keep_contexts`.
        """
        with self._indexing(contexts, on_progress, keep_contexts=keep_contexts) as indexer:
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
        `on_notice` is called with the host and the size before texts are sent to another machine;
        the notes of the report repeat it. Raises `ModelError` if less than `min_coverage` of the
        chunks have one in the end, besides what `add` raises.
        """
        from crx.context.budget import Budget, parse_budget
        from crx.registry import load_router

        limit = parse_budget(budget) if budget else Budget()
        with contextlib.ExitStack() as stack:
            router = load_router(
                with_,
                refresh=refresh,
                prompt=prompt,
                templates=self._templates if templates is None else templates,
                cap_dollars=limit.dollars,
            )
            if isinstance(with_, str) and isinstance(router.general, Closeable):
                stack.callback(router.general.close)
            report = self._run_contexts(
                router,
                seconds=limit.seconds,
                on_progress=on_progress,
                on_notice=on_notice,
            )
        report.require(min_coverage)
        return report

    def export_contexts(
        self, file: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None
    ) -> int:
        """Write the contexts to a file of JSON lines; returns how many there were.

        Documents below `root` (the current folder) are named by their path below it.
        """
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
        from crx.context.contextualize import ContextSources
        from crx.context.exchange import import_contexts
        from crx.context.file_contexts import FileContexts
        from crx.ingest.indexer import Indexer

        contexts = FileContexts(Path(file))
        embedder = self.embedder
        origin = Origin(contexts.fingerprint, DEFAULT_REFRESH)
        with self._writing() as writer:
            self._note_origin(writer.store, origin)
            imported = import_contexts(
                writer.store,
                contexts.records,
                embedder=embedder,
                origin=origin,
                folder=Path(os.path.abspath(root or ".")),
            )
            Indexer(writer.store, embedder=embedder, situator=ContextSources(outline=False)).embed()
            writer.sync()
        return imported

    def remove(self, *uris: str) -> int:
        """Remove documents by URI; returns how many there were."""
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
        `rerank` turns reranking on or off; None reranks if a reranker is set. A reranker that
        fails while it reads leaves the fused order, and a note.

        The answer is that of one committed state of the index. Raises `ValueError` for an argument
        that is not valid, such as an empty query, an unknown leg, or a budget with another window
        than "auto", `ModelError` for a reranker that cannot be loaded, `UsageError` for a
        `min_relevance` without one.
        """
        check_search(query, k=k, window=window, budget_tokens=budget_tokens, where=where, legs=legs)
        k = self._settings.k if k is None else k
        budget = self._settings.budget_tokens if budget_tokens is None else budget_tokens
        reranking = self._reranking(asked=rerank)
        embedder = self._query_embedder(legs)
        for attempt in range(1, SEARCH_TRIES + 1):
            searcher, legs_now, notes = self._searching()
            only = self.store.select(orjson.dumps(where).decode()) if where else None
            found = searcher.search(
                query,
                weights=self.weights(),
                k=k,
                legs=legs,
                only=only,
                embedder=embedder,
                reranking=reranking,
            )
            passages = searcher.widen(
                found.hits,
                window=window,
                budget_tokens=budget,
                window_tokens=self._settings.window_tokens,
                within_section=within_section,
                order=order,
            )
            if self.store.seq == legs_now.seq or not searcher.missing(found):
                break
            if attempt == SEARCH_TRIES:
                notes.append("documents were replaced during the search; some hits are missing")
        hits = found.hits
        if where and not passages:
            notes += describe_missing_fields(where, self.store.documents())
        if over := len(hits) - sum(len(passage.hits) for passage in passages):
            notes.append(f"{over} of {len(hits)} hits are in no passage: over {budget} tokens")
        return Result(tuple(passages), tuple(hits), (*notes, *found.notes), found.timings_ms)

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
        from crx.registry import load_generator

        generator = with_ or self._settings.generator
        if not generator:
            raise UsageError(
                "no generator is named; give --with llama:PATH, claude:MODEL or openai:URL#MODEL, "
                'or "crx config set generator llama:PATH" for good'
            )
        prompt = self.prompt(question) if isinstance(question, str) else question

        def load() -> contextlib.AbstractContextManager[Generator]:
            if isinstance(generator, str):
                return contextlib.closing(load_generator(generator))
            return contextlib.nullcontext(generator)

        return AnswerStream(prompt, load, on_notice=on_notice)

    def weights(self) -> RankingWeights:
        """Return the weights and constants of both legs and of their fusion."""
        values = asdict(self._settings)
        return RankingWeights(**{each.name: values[each.name] for each in fields(RankingWeights)})

    def status(self) -> Status:
        """Return what the index holds and what is still to be embedded."""
        _, legs, notes = self._searching()
        return Status(
            path=str(self.path),
            counts=self.store.stats(),
            settings=self._fixed,
            notes=tuple(notes),
            failures=tuple(self.store.failures()),
            exact=legs.dense.exact,
            reranker=self._settings.reranker,
        )

    def verify(self) -> Verification:
        """Check every row against its hash; repair damaged vectors, then derived files.

        Derived files are left alone if other rows are damaged: they would be built from those. A
        store that is older than its derived files, or that lost its write-ahead log, is accepted
        as it is. Raises `ModelError` if a vector is damaged and the embedder cannot be loaded.
        """
        from crx.ingest.repair import name_vectors, repair_vectors

        store, derived = self._files()
        faults = store.verify()
        repaired: list[str] = []
        if name_vectors(faults):
            with derived.recovering() as writer:
                faults, repaired = repair_vectors(writer.store, load_embedder=lambda: self.embedder)
                writer.sync()
        if faults:
            return Verification(tuple(fact(fault) for fault in faults), tuple(repaired))
        if damaged := derived.damaged():
            with derived.recovering() as writer:
                writer.publish()
            self.close()
            self._opened = None
        rebuilt = [f"{fact(line)}; made anew" for line in damaged]
        return Verification((), (*repaired, *rebuilt))

    def backup(self, folder: str | os.PathLike[str]) -> Path:
        """Copy the index, as of the last commit, into a new folder; returns its path.

        The copy holds `crx.db` alone; its derived files are rebuilt when it is first searched. It
        may be taken while another process writes. Raises `UsageError` if the folder exists and is
        not empty, `NoRoom`.
        """
        target = Path(os.path.abspath(folder))
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise UsageError(f"{target}: exists already; name a folder that does not")
        self.store.backup(str(target))
        return target

    def gc(self, *, contexts: bool = False) -> dict[str, int]:
        """Drop vectors and texts (and contexts, if asked) that nothing points to."""
        with self._writing() as writer:
            return writer.store.gc(contexts=contexts)

    def searcher(self) -> Searcher:
        """Return both legs, brought up to the store if that is possible."""
        return self._searching()[0]

    @contextlib.contextmanager
    def _indexing(
        self,
        contexts: str | None,
        on_progress: Callable[[Progress], None] | None,
        *,
        keep_contexts: bool = True,
    ) -> Iterator[Indexer]:
        # Imported here: readers and their like are a third of what a search would import.
        from crx.ingest.ignore import FolderPatterns
        from crx.ingest.indexer import Indexer
        from crx.registry import load_context_sources

        sources = load_context_sources(contexts or self._fixed["contexts"])
        embedder = self.embedder
        with self._writing() as writer:
            self._fix(writer.store, embedder_fingerprint=embedder.fingerprint)
            origins = read_origins(self._fixed) if keep_contexts else ()
            yield Indexer(
                writer.store,
                embedder=embedder,
                situator=replace(sources, origins=origins),
                chunk_tokens=int(self._fixed["chunk_tokens"]),
                chunk_chars=int(self._fixed["chunk_chars"]),
                chunk_overlap=int(self._fixed["chunk_overlap"]),
                max_file_mb=self._settings.max_file_mb,
                skip_folders=FolderPatterns.parse(self._settings.skip_folders),
                on_progress=on_progress,
                on_commit=writer.sync,
            )
            writer.publish()

    def _run_contexts(
        self,
        router: ContextRouter,
        *,
        seconds: float,
        on_progress: Callable[[ContextProgress], None] | None,
        on_notice: Callable[[str], None] | None,
    ) -> ContextReport:
        from crx.context.run import ContextRun

        embedder = self.embedder
        with self._writing() as writer:
            for origin in router.origins:
                self._note_origin(writer.store, origin)
            return ContextRun(
                writer.store,
                embedder=embedder,
                router=router,
                seconds=seconds,
                on_progress=on_progress,
                on_commit=writer.sync,
                on_notice=on_notice,
            ).run()

    def _note_origin(self, store: _native.Store, origin: Origin) -> None:
        origins = with_origin(store.settings(), origin)
        self._fix(store, embedder_fingerprint=self.embedder.fingerprint, **origins)

    def _fix(self, store: _native.Store, **settings: str) -> None:
        """Record in the index what it is built with; another process may have done so, too."""
        self._fixed = {**store.settings(), **settings}
        store.set_settings(self._fixed)

    def _load_embedder(self) -> Embedder:
        from crx.registry import load_embedder

        embedder = load_embedder(self._fixed["embedder"])
        built = self._fixed.get("embedder_fingerprint", embedder.fingerprint)
        if built != embedder.fingerprint:
            raise Incompatible(
                f"{self.path}: built with the embedder {built}, but {self._fixed['embedder']} "
                f"is now {embedder.fingerprint}; bring the old model back, or index into a new "
                f"folder: crx index PATH --index DIR"
            )
        return embedder

    def _query_embedder(self, legs: Sequence[Leg]) -> Embedder | None:
        """Return the embedder if the dense leg is asked for and the index has one."""
        if "dense" not in legs:
            return None
        if self._fixed["embedder"] != NO_EMBEDDER:
            return self.embedder
        if "bm25" not in legs:
            raise UsageError(
                f"{self.path}: has no dense leg, because it was made with embedder = "
                f"{NO_EMBEDDER}; search with BM25, or index into a new folder"
            )
        return None

    def _reranking(self, *, asked: bool | None) -> Reranking | None:
        """Return how to rerank, or None; raises `UsageError` for a threshold without scores."""
        settings = self._settings
        if asked is False or (asked is None and not settings.reranker):
            if settings.min_relevance:
                raise UsageError(
                    f"min_relevance is {settings.min_relevance:g}, and only a reranker's scores "
                    "have a threshold; set reranker, or leave it out"
                )
            return None
        return Reranking(
            reranker=self.reranker,
            depth=settings.rerank_depth,
            weight=settings.rerank_weight,
            ms=settings.rerank_ms,
            min_relevance=settings.min_relevance,
            cache=self._scores,
        )

    def _searching(self) -> tuple[Searcher, Legs, list[str]]:
        """Return the newest legs and, in one line each, what they lack of the store."""
        store, derived = self._files()
        legs, notes = derived.legs()
        known = self._searcher
        if known is None or known[0] is not legs:
            known = self._searcher = legs, Searcher(store, legs.lexical, legs.dense)
        if len(store.pending(limit=1)):
            pending = store.stats()["pending"]
            notes.append(f'{pending} chunks are not embedded yet; "crx index" goes on with them')
        return known[1], legs, notes

    def _writing(self) -> contextlib.AbstractContextManager[Writer]:
        return self._files()[1].writing()

    def _files(self) -> tuple[_native.Store, DerivedFiles]:
        """Return the open files; a forked child opens its own."""
        with self._loading:
            if self._opened is None:
                store = open_store(self.path)
                derived = DerivedFiles(self.path, store, ann_above=self._settings.ann_above)
                self._opened = store, derived
            return self._opened

    def _after_fork(self) -> None:
        """Drop what belongs to the parent: connections, locks, models and their threads."""
        _INHERITED.append((self._opened, self._searcher, self._embedder, self._reranker))
        self._loading = threading.RLock()
        self._opened = self._searcher = self._embedder = self._reranker = None
        self._scores = ScoreCache()


_OPEN: WeakSet[Index] = WeakSet()
# What forked children inherited: closing it would disturb the parent, so it is kept.
_INHERITED: list[object] = []


def _after_fork_in_child() -> None:
    WriteAccess.forget_parent()
    for index in _OPEN:
        index._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def open(
    path: str | os.PathLike[str],
    *,
    create: bool = True,
    settings: Mapping[str, object] | None = None,
) -> Index:
    """Open an index folder, made with defaults where there is none (unless `create` is false).

    `settings` go before `CRX_*` variables, the project file and the user file. Raises `NotAnIndex`,
    `Incompatible` (built with other settings than asked for), `Damaged`, `NoRoom`, and `ModelError`
    for a new index whose embedder cannot be loaded; nothing is made then.
    """
    folder = Path(os.path.abspath(path))
    _require_utf_8(folder)
    resolved = resolve(settings)
    if create and not _is_complete(folder):
        # Before anything is made: without its model, an index would be left behind empty.
        embedder = _load_first_embedder(resolved.settings.embedder)
        _create(folder, resolved.settings)
        return Index(folder, resolved, embedder=embedder)
    return Index(folder, resolved)


def _load_first_embedder(spec: str) -> Embedder:
    """Return the embedder of a new index; `ModelError` also names the way without a model."""
    from crx.registry import load_embedder

    try:
        return load_embedder(spec)
    except ModelError as error:
        raise ModelError(f"{error}, or search with BM25 alone: --embedder {NO_EMBEDDER}") from error


def _require_utf_8(folder: Path) -> None:
    """Raise `UsageError` for a path with other bytes, which the files of the index cannot have."""
    try:
        os.fspath(folder).encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"{escape_path(folder)}: the path of an index must be UTF-8; put the index elsewhere "
            "with --index DIR"
        ) from None


def _is_complete(folder: Path) -> bool:
    """Return True unless there is no index, or its creation was interrupted before its settings."""
    try:
        store = _native.Store.open(str(folder))
    except NotAnIndex:
        return False
    try:
        return bool(store.settings())
    finally:
        store.close()


def _create(folder: Path, settings: Settings) -> None:
    store = _native.Store.open(str(folder), write=True, create=True)
    try:
        values = asdict(settings)
        store.set_settings({name: str(values[name]) for name in _FIXED})
        derived = folder / "derived"
        _native.Lexical.open(str(derived / "bm25"), write=True).sync(store)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    finally:
        store.close()


def _agree(path: Path, built: Mapping[str, str], resolved: Resolved) -> Mapping[str, str]:
    """Return what the index was built with; raises where somebody asked for something else."""
    if not built:
        raise NotAnIndex(
            f"{path}: its creation was interrupted; `crx index PATH... --index {path}` completes it"
        )
    asked = asdict(resolved.settings)
    for name in _FIXED:
        origin = resolved.origins[name]
        source = "" if origin == ARGUMENT else f" (from {origin})"
        if origin != "default" and str(asked[name]) != built.get(name, str(asked[name])):
            raise Incompatible(
                f"{path}: built with {name} = {built[name]}, not {asked[name]}{source}; "
                f"leave it out, or index into a new folder: crx index PATH --index DIR "
                f"--set {name}={asked[name]}"
            )
    return built
