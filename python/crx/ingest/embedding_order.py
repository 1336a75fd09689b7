"""Order in which pending chunks are embedded: those first whose vectors are likely to gain most."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from crx import _native

# Documents that were changed at most so long before the newest one are recent. It is compared with
# the newest document and not with the clock, which may be wrong.
RECENT_NS = 7 * 24 * 3600 * 10**9
# Consecutive chunks of a document that are embedded in one turn: they share the vector of what
# situates them, which is embedded once.
CHUNKS_A_TURN = 4

# Names of licences, and of files that tools write.
_GENERATED = re.compile(
    r"licen[cs]e([.-].*)?|(licenses|copying|copyright|notice|authors|contributors)(\.\w+)?"
    r"|.+([.-]lock|[.-]lock\.(json|ya?ml)|\.min\.(js|css)|\.(js|css)\.map|_pb2?\.\w+|\.pb\.\w+"
    r"|\.generated\.\w+|\.snap)|go\.sum",
    re.IGNORECASE,
)
_TEST = re.compile(r"test_.+\.\w+|.+_test\.\w+|.+\.(test|spec)\.\w+|conftest\.py", re.IGNORECASE)
_LATE_FOLDERS = frozenset(
    {
        "__snapshots__",
        "__tests__",
        "dist",
        "fixtures",
        "generated",
        "licenses",
        "node_modules",
        "test",
        "testdata",
        "tests",
        "third_party",
        "vendor",
    }
)


def order_pending(
    pending: NDArray[np.int64], documents: Iterable[_native.DocumentRow]
) -> list[int]:
    """Return the keys of chunks, (n, 3) of key, document and ordinal, in the order of their turns.

    Licences, tests and generated texts come last, and source code before them: its words alone find
    its files as well as with vectors, which help where a function is asked for in other words.
    Among the others, the documents of the last week before the newest come first. Then all
    documents take turns, the newest first, so that the first chunks of each are embedded before the
    last of any.
    """
    if not len(pending):
        return []
    rows = {row.doc: row for row in documents}
    changed_ns = {doc: row.source_mtime_ns for doc, row in rows.items()}
    newest = max((changed_ns.get(doc, 0) for doc in set(pending[:, 1].tolist())), default=0)
    late = {doc: (is_late(row.uri), row.kind == "code") for doc, row in rows.items()}

    def turn(chunk: tuple[int, int, int]) -> tuple[tuple[bool, bool], bool, int, int, int, int]:
        key, doc, ordinal = chunk
        changed = changed_ns.get(doc, 0)
        is_old = newest - changed > RECENT_NS
        return late.get(doc, (False, False)), is_old, ordinal // CHUNKS_A_TURN, -changed, doc, key

    return [key for key, _, _ in sorted(map(tuple, pending.tolist()), key=turn)]


def is_late(uri: str) -> bool:
    """Return whether a path looks like that of a licence, a test or a generated text."""
    *folders, name = uri.split("/")
    return bool(
        _GENERATED.fullmatch(name)
        or _TEST.fullmatch(name)
        or _LATE_FOLDERS.intersection(folder.lower() for folder in folders)
    )
