"""Cache of contexts, keyed by their content and its surroundings.

A context is kept under a key of its content: who made it, the chunk, and what around the chunk a
change of which makes the context stale. How far that reaches is `Refresh`:

- `never`: the chunk itself.
- `section`: also its section (of a long one, what lies within `NEIGHBOURS` chunks) and the
  headings above it.
- `document`: the whole text of the document.

All of them hold the document's opening, where its subject is named: two documents with a clause in
common do not share what was written of it in one of them. No key holds a path, so that a file that
was moved, renamed or added again pays nothing.

`section` is the default, by measure: of a file of 300 pages (900 chunks of 800 characters in 150
sections), a line edited at one of 20 random places costs 5.6 contexts on average and 6 at most; by
`document` it costs all 900. By `never` it costs 1, but what is said of the chunks beside it may
then be untrue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import orjson

from crx import _native
from crx.context.outline import OPENING_CHARS
from crx.ingest.split import labels_around
from crx.types import Chunk, Context, Document

Refresh = Literal["never", "section", "document"]
# From the widest reuse to the narrowest: what holds by a later one holds by those before it.
REFRESH: tuple[Refresh, ...] = get_args(Refresh)
DEFAULT_REFRESH: Refresh = "section"
# Chunks on each side that a context is taken to speak of.
NEIGHBOURS = 4
# The setting of an index that names what has made its contexts.
ORIGINS = "context_origins"


@dataclass(frozen=True, slots=True)
class Origin:
    """What made contexts that an index keeps, and how far a change reaches them."""

    fingerprint: str
    refresh: Refresh


@dataclass(frozen=True, slots=True)
class CachedContext:
    """A context of the store: its key, what made it, and itself."""

    key: bytes
    generator: str
    context: Context


def find(
    store: _native.Store, document: Document, chunks: Sequence[Chunk], *, origin: Origin
) -> list[CachedContext | None]:
    """Return the context that each of a document's chunks has of an origin, or None.

    One that was kept by a narrower `Refresh` holds too. `chunks` are all of the document's.
    """
    found: list[CachedContext | None] = [None] * len(chunks)
    for refresh in REFRESH[REFRESH.index(origin.refresh) :]:
        missing = [i for i, kept in enumerate(found) if kept is None]
        if not missing:
            break
        keys = context_keys(document, chunks, origin=Origin(origin.fingerprint, refresh))
        rows = store.contexts([keys[i] for i in missing])
        for i, row in zip(missing, rows, strict=True):
            if row is not None:
                generator, outcome, text = row
                found[i] = CachedContext(keys[i], generator, Context.stored(text, outcome))
    return found


def find_best(
    store: _native.Store, document: Document, chunks: Sequence[Chunk], *, origins: Sequence[Origin]
) -> list[CachedContext | None]:
    """Return the kept context of each chunk: of the first origin that has a text for it."""
    best: list[CachedContext | None] = [None] * len(chunks)
    for origin in origins:
        for i, kept in enumerate(find(store, document, chunks, origin=origin)):
            there = best[i]
            if kept is not None and (there is None or not there.context.text):
                best[i] = kept
    return best


def store_context(store: _native.Store, key: bytes, *, generator: str, context: Context) -> bytes:
    """Keep a context durably and return the key it is under.

    A failed one is kept aside from its own key, so that the next run tries again; so is one whose
    key another text has, as two copies of a document may bring from a file of contexts.
    """
    if context.status == "failed":
        key = _native.digest(b"failed", context.outcome.encode(), key)
    row = (generator, context.outcome, context.text)
    store.put_contexts([(key, *row)])
    (there,) = store.contexts([key])
    if there is not None and there[2] != context.text:
        key = _native.digest(b"other", context.text.encode(), key)
        store.put_contexts([(key, *row)])
    return key


def context_keys(document: Document, chunks: Sequence[Chunk], *, origin: Origin) -> list[bytes]:
    """Return the keys under which the contexts of all of a document's chunks are kept."""
    shared = [
        origin.fingerprint.encode(),
        origin.refresh.encode(),
        document.title.encode(),
        document.text[:OPENING_CHARS].encode(),
    ]
    if origin.refresh == "document":
        shared.append(document.text.encode())
    head = _native.digest(*shared)
    seen: Counter[bytes] = Counter()
    keys = []
    for around, chunk in zip(_around(document, chunks, origin.refresh), chunks, strict=True):
        scope = _native.digest(head, chunk.text.encode(), around.encode())
        keys.append(_native.digest(scope, seen[scope].to_bytes(8, "little")))
        seen[scope] += 1
    return keys


def read_origins(settings: Mapping[str, str]) -> tuple[Origin, ...]:
    """Return what has made the contexts of an index, newest first."""
    return tuple(Origin(*each) for each in orjson.loads(settings.get(ORIGINS, "[]")))


def with_origin(settings: Mapping[str, str], origin: Origin) -> dict[str, str]:
    """Return the setting that names an origin as the newest, before those that it names now."""
    others = [o for o in read_origins(settings) if o.fingerprint != origin.fingerprint]
    listed = [[o.fingerprint, o.refresh] for o in (origin, *others)]
    return {ORIGINS: orjson.dumps(listed).decode()}


def _around(document: Document, chunks: Sequence[Chunk], refresh: Refresh) -> Iterator[str]:
    """Yield what a chunk's context speaks of besides the chunk: headings, and chunks beside it."""
    headings: dict[int, str] = {}
    for i, chunk in enumerate(chunks):
        if refresh != "section":
            yield ""
            continue
        if chunk.section not in headings:
            headings[chunk.section] = "\n".join(labels_around(document.marks, chunk.start))
        near = range(max(0, i - NEIGHBOURS), min(len(chunks), i + NEIGHBOURS + 1))
        beside = [chunks[j].text for j in near if j != i and chunks[j].section == chunk.section]
        yield "\0".join([headings[chunk.section], *beside])
