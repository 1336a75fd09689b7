"""Verification of an index folder, and repair of what can be made anew."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace

from crx import _context, _native
from crx._index.files import OpenFiles, describe_lost_log
from crx._index.open_store import advise_salvage
from crx._index.self_check import describe_unfound
from crx._index.snapshot import describe_older_store
from crx._index.writer import CATCH_UP_S, open_locked_store
from crx.errors import Damaged, fact
from crx.ingest.pending import PendingChunks
from crx.ingest.report import Tally
from crx.protocols import Embedder
from crx.types import Verification


def verify_files(
    files: OpenFiles, *, load_embedder: Callable[[], Embedder], deep: bool
) -> Verification:
    """Check every row against its hash; repair damaged vectors, then derived files.

    See `Index.verify`. After a repair the files must be opened again.
    """
    try:
        faults = files.store.verify()
    except Damaged as error:
        raise Damaged(advise_salvage(error)) from error
    repaired: list[str] = []
    if any(fault.startswith("vector ") for fault in faults):
        with files.recovering() as writer:
            faults, repaired = _repair_vectors(writer.store, load_embedder=load_embedder)
            writer.sync()
    if faults:
        return Verification(tuple(fact(fault) for fault in faults), tuple(repaired))
    if damaged := _find_damaged(files):
        with files.recovering() as writer:
            writer.publish()
    if deep and not damaged and (damaged := _find_unfound(files)):
        rebuild_files(files)
    rebuilt = [f"{fact(line)}; made anew" for line in damaged]
    return Verification((), (*repaired, *rebuilt))


def _find_unfound(files: OpenFiles) -> list[str]:
    """Return what BM25 does not find, a line each; its files are not held open any longer then."""
    return describe_unfound(files.store, lexical=files.legs.open_lexical(write=False))


def _repair_vectors(
    store: _native.Store, *, load_embedder: Callable[[], Embedder]
) -> tuple[list[str], list[str]]:
    """Drop the damaged vectors of a store and embed their chunks again.

    Returns the faults that are left and a line for each repair. If faults are left, nothing is
    embedded, since the texts may be damaged too; the chunks are then pending.
    """
    keys = store.drop_damaged_vectors()
    if faults := store.verify():
        return faults, [f"{len(keys)} damaged vectors were dropped"]
    lines = [
        f"{row.uri}: the vector of chunk {row.ordinal} was damaged; embedded again"
        for row in store.chunks(keys)
    ]
    if lines:
        PendingChunks(store, embedder=load_embedder(), tally=Tally()).embed()
    return [], lines


def verify_archive(files: OpenFiles, found: Verification) -> Verification:
    """Remove the damaged lines of the archive of contexts; returns what was found with them."""
    folder = files.legs.path
    damaged = _context.archive.read_archive(folder).damaged
    if not damaged:
        return found
    with files.writing():
        _context.archive.drop_damaged_lines(folder)
    line = f"{folder / _context.archive.FILE}: {damaged} damaged lines; removed"
    return replace(found, repaired=(*found.repaired, line))


def _find_damaged(files: OpenFiles) -> list[str]:
    """Return the derived files that do not match their hashes or their store, a line each."""
    store, legs = files.store, files.legs
    faults = [describe_lost_log(legs.path)] if store.log_lost else []
    if not os.path.lexists(legs.folder):  # as in a backup
        return [*faults, f"{legs.folder}: no such folder"]
    try:
        lexical = legs.open_lexical(write=False)
        if lexical.seq > store.seq:
            faults.append(describe_older_store(legs.path, store, lexical.seq))
    except Damaged as error:
        faults.append(str(error))
    dense = legs.open_dense(write=False)
    dense.check(store)
    trigrams = legs.open_trigrams()
    trigrams.check(store)
    return [*faults, *dense.faults, *trigrams.faults]


def rebuild_files(files: OpenFiles) -> None:
    """Delete the derived files and make them anew from the store, under the writer's lock."""
    with contextlib.closing(open_locked_store(files.legs.path, wait_s=CATCH_UP_S)):
        _native.clear_folder(files.legs.path, files.legs.folder.name)
    with files.recovering() as writer:
        writer.publish()
