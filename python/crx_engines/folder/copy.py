"""Copies of indexes between engines: resumable, and verified by reading back.

A document that the target has already, with the same digest, is not copied again, so that a copy
that was interrupted goes on where it stopped; until then a setting of the target says so. Contexts
that no chunk uses stay behind, and so does
the list of folders that were added: they are on the machine of the source.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crx import context_registry
from crx._index.open_store import UNFINISHED_COPY
from crx.config import FIXED, allow_copy
from crx.errors import Damaged, Incompatible, NotAnIndex, UsageError
from crx.plugins import is_engine_address
from crx_engines.engine.connect import connect
from crx_engines.engine.protocol import (
    Conditions,
    Engine,
    EngineSnapshot,
    SettingsWriter,
    StoredDocument,
    batches,
)
from crx_engines.folder.local_engine import LocalEngine

# Characters of the documents that are put, or verified, between two reports of progress.
_BATCH = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyProgress:
    """How far a copy is: documents copied, then verified."""

    step: str
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """What a copy did: documents and chunks of the source, and how many documents were copied."""

    source: str
    target: str
    documents: int
    chunks: int
    copied: int

    @property
    def unchanged(self) -> int:
        """The documents that the target had already."""
        return self.documents - self.copied


def open_engine(name: str) -> Engine:
    """Return the engine of an address, or of the path of a folder.

    Raises `UsageError` for an address that no installed package opens, with what to install.
    """
    if is_engine_address(name):
        return connect(name)
    return LocalEngine(Path(os.path.abspath(name)))


def copy_documents(
    source: Engine,
    target: Engine,
    *,
    where: Conditions | None = None,
    on_progress: Callable[[CopyProgress], None] = lambda _: None,
) -> CopyReport:
    """Make the target hold the documents of the source, with contexts and vectors.

    `where` limits it to some of them. Other documents of the target stay. Raises `NotAnIndex` if
    the source holds no index, `Incompatible` if the target was built with other settings, `Damaged`
    if a document reads back otherwise than it was put.
    """
    if source.name == target.name:
        raise UsageError(f"{source.name}: is source and target of the copy; name another target")
    settings = source.settings()
    if not settings:
        raise NotAnIndex(f"{source.name}: holds no index; nothing was copied")
    existing = target.settings()
    if existing:
        _require_same(existing, settings, source=source, target=target)
    mark = target if isinstance(target, SettingsWriter) else None
    begun = {UNFINISHED_COPY: source.name} if mark else {}
    target.create({**settings, **begun})
    if mark:
        mark.set_settings(begun)
    with source.snapshot() as held:
        wanted = held.digests(where=where)
        with target.snapshot() as present:
            known = present.digests(where=None)
        missing = [uri for uri, digest in wanted.items() if known.get(uri) != digest]
        done = 0
        for group in batches(_documents(held, missing), most_bytes=_BATCH):
            target.upsert(group)
            done += len(group)
            on_progress(CopyProgress(step="copied", done=done, total=len(missing)))
        target.publish()
    chunks = _verify(target, wanted, on_progress=on_progress)
    if mark:
        mark.set_settings({UNFINISHED_COPY: ""})
    allow_copy(source.name, target.name, context_registry.index_acts(settings))
    return CopyReport(
        source=source.name,
        target=target.name,
        documents=len(wanted),
        chunks=chunks,
        copied=len(missing),
    )


def _documents(snapshot: EngineSnapshot, uris: Sequence[str]) -> Iterator[StoredDocument]:
    for uri in uris:
        document = snapshot.read(uri)
        assert document is not None, "a document of a snapshot is gone"
        yield document


def _require_same(
    existing: Mapping[str, str], settings: Mapping[str, str], *, source: Engine, target: Engine
) -> None:
    """Raise `Incompatible` if documents of two indexes must not be mixed."""
    for name in (*FIXED, "embedder_fingerprint"):
        ours, theirs = settings.get(name), existing.get(name)
        if ours and theirs and ours != theirs:
            raise Incompatible(
                f"{target.name}: built with {name} = {theirs}, but {source.name} with {ours}; "
                "copy to another target, or index the documents again"
            )


def _verify(
    target: Engine,
    wanted: Mapping[str, bytes],
    *,
    on_progress: Callable[[CopyProgress], None],
) -> int:
    """Read every document back; return the number of chunks. Raises `Damaged` for a difference."""
    chunks = done = 0
    with target.snapshot() as snapshot:
        for group in batches(_documents(snapshot, list(wanted)), most_bytes=_BATCH):
            for document in group:
                if document.digest() != wanted[document.uri]:
                    raise Damaged(
                        f"{target.name}: {document.uri} reads back otherwise than it was put; "
                        "another writer may have replaced it: copy again"
                    )
                chunks += len(document.chunks)
            done += len(group)
            on_progress(CopyProgress(step="verified", done=done, total=len(wanted)))
    return chunks
