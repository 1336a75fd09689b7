"""Cache of contexts, keyed by their content and its surroundings.

The key of a context is a digest of its generator, its chunk, and the text around the chunk whose
change makes the context stale. `Refresh` is the extent of that text.

Every key includes the opening of the document, which names its subject: two documents with a
clause in common do not share a context. No key includes a path, so a file that was moved, renamed
or added again keeps its contexts.

The extents:

- `never`: none; only the chunk itself.
- `section`: the chunk's section (of a long one, the chunks within `_NEIGHBOURS`) and the headings
  above it.
- `document`: the whole text of the document.

`section` is the default because of this measurement: in a file of 300 pages (900 chunks of 800
characters in 150 sections), an edit of one line at 20 random positions costs 5.6 contexts on
average and 6 at most. With `document` it costs all 900. With `never` it costs 1, but the contexts
of the neighbouring chunks may then be wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import orjson

from crx import _native
from crx._context.opening import OPENING_CHARS
from crx.ingest.split import SectionLabels
from crx.types import Chunk, Context, Document, is_outcome

Refresh = Literal["never", "section", "document"]
# From the widest reuse to the narrowest: a context that is valid by one is valid by those before.
REFRESH: tuple[Refresh, ...] = get_args(Refresh)
DEFAULT_REFRESH: Refresh = "section"

# Chunks on each side that a context is assumed to describe.
_NEIGHBOURS = 4
# The setting of an index that lists the origins of its contexts.
ORIGINS = "context_origins"


@dataclass(frozen=True, slots=True)
class Origin:
    """A contextualizer's fingerprint, and the extent of a change that makes its contexts stale."""

    fingerprint: str
    refresh: Refresh


@dataclass(frozen=True, slots=True)
class CachedContext:
    """A stored context, its key and the fingerprint of its generator."""

    key: bytes
    generator: str
    context: Context


def find(
    store: _native.Store, document: Document, chunks: Sequence[Chunk], *, origin: Origin
) -> list[CachedContext | None]:
    """Return the stored context of each chunk from one origin, or None.

    One with an outcome that no version of crx writes is as good as missing. A context stored with a
    narrower `Refresh` is valid, too, and one that was accepted after a rejection replaces that.
    `chunks` are all of the document's.
    """
    found: list[CachedContext | None] = [None] * len(chunks)
    for refresh in REFRESH[REFRESH.index(origin.refresh) :]:
        missing = [i for i, cached in enumerate(found) if cached is None]
        if not missing:
            break
        keys = context_keys(document, chunks, origin=Origin(origin.fingerprint, refresh))
        rows = store.contexts([keys[i] for i in missing])
        for i, stored in zip(missing, rows, strict=True):
            if stored is not None and is_outcome(stored[1]):
                generator, outcome, text = stored
                found[i] = CachedContext(keys[i], generator, Context.stored(text, outcome))
    return _accepted_later(store, found)


def _accepted_later(
    store: _native.Store, found: list[CachedContext | None]
) -> list[CachedContext | None]:
    """Return the contexts with those that were accepted after a rejection instead of it."""
    rejected = {i: each.key for i, each in enumerate(found) if each and not each.context.text}
    later = [_second_key(key) for key in rejected.values()]
    for i, key, stored in zip(rejected, later, store.contexts(later), strict=True):
        if stored is not None:
            generator, outcome, text = stored
            found[i] = CachedContext(key, generator, Context.stored(text, outcome))
    return found


def _second_key(key: bytes) -> bytes:
    """Return the key of a context that is accepted after one with this key was rejected."""
    return _native.digest(b"second", key)


def find_best(
    store: _native.Store, document: Document, chunks: Sequence[Chunk], *, origins: Sequence[Origin]
) -> list[CachedContext | None]:
    """Return the stored context of each chunk, from the first origin that has a text for it."""
    best: list[CachedContext | None] = [None] * len(chunks)
    for origin in origins:
        for i, found in enumerate(find(store, document, chunks, origin=origin)):
            previous = best[i]
            if found is not None and (previous is None or not previous.context.text):
                best[i] = found
    return best


def store_context(store: _native.Store, key: bytes, *, generator: str, context: Context) -> bytes:
    """Store a context durably and return its key.

    A failed context gets a derived key, so that the next run tries again, and so does one that is
    accepted after a rejection. So does one whose key is taken by another text: a file of contexts
    may have two texts for two copies of a document.
    """
    if context.status == "failed":
        key = _native.digest(b"failed", context.outcome.encode(), key)
    row = (generator, context.outcome, context.text)
    store.put_contexts([(key, *row)])
    (stored,) = store.contexts([key])
    if stored is not None and stored[2] != context.text:
        is_rejected = not stored[2]
        other = _native.digest(b"other", context.text.encode(), key)
        key = _second_key(key) if is_rejected else other
        store.put_contexts([(key, *row)])
    return key


def context_keys(document: Document, chunks: Sequence[Chunk], *, origin: Origin) -> list[bytes]:
    """Return the keys of the contexts of all chunks of a document."""
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
    """Return the origins of an index's contexts, newest first."""
    return tuple(Origin(*each) for each in orjson.loads(settings.get(ORIGINS, "[]")))


def with_origin(settings: Mapping[str, str], origin: Origin) -> dict[str, str]:
    """Return the setting of `read_origins` with an origin as the newest."""
    others = [o for o in read_origins(settings) if o.fingerprint != origin.fingerprint]
    return _origins_setting([origin, *others])


def with_older_origins(settings: Mapping[str, str], origins: Iterable[Origin]) -> dict[str, str]:
    """Return the setting of `read_origins` with the origins that it lacks as the oldest ones."""
    listed = {each.fingerprint: each for each in read_origins(settings)}
    for origin in origins:
        listed.setdefault(origin.fingerprint, origin)
    return _origins_setting(listed.values())


def _origins_setting(origins: Iterable[Origin]) -> dict[str, str]:
    listed = [[origin.fingerprint, origin.refresh] for origin in origins]
    return {ORIGINS: orjson.dumps(listed).decode()}


def _around(document: Document, chunks: Sequence[Chunk], refresh: Refresh) -> Iterator[str]:
    """Yield the text around each chunk that its context depends on: headings and neighbours."""
    sections = SectionLabels(document.marks)
    headings: dict[int, str] = {}
    for i, chunk in enumerate(chunks):
        if refresh != "section":
            yield ""
            continue
        if chunk.section not in headings:
            headings[chunk.section] = "\n".join(sections.around(chunk.start))
        near = range(max(0, i - _NEIGHBOURS), min(len(chunks), i + _NEIGHBOURS + 1))
        beside = [chunks[j].text for j in near if j != i and chunks[j].section == chunk.section]
        yield "\0".join([headings[chunk.section], *beside])
