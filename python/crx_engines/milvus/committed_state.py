"""Commits of an index in Milvus, which has no transactions.

Every row carries in `born` the number of the commit that it belongs to, and the commit is one more
row, inserted after all of them: its body has the sums of the whole index. Documents that a commit
replaces or removes have tombstones of its number, inserted before it, too. A reader takes the last
commit, and sees the rows born up to it, except those of documents with a tombstone up to it. All of
that is in one collection and read by one request. A row that a commit has begun is inserted before
its first, so that the next writer sees whether there is something to remove.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import orjson

from crx.errors import Incompatible, NotAnIndex
from crx_engines.engine.protocol import digest_of
from crx_engines.milvus.milvus_collections import NO_VECTOR, STATE
from crx_engines.milvus.milvus_connection import MilvusConnection, StoredRow

# The version of the collections, which a setting of this name records.
VERSION = 2
VERSION_SETTING = "engine_version"
DENSE_INDEX_SETTING = "engine_dense_index"
_OWN = "engine_"

# Kinds of rows of the collection.
SETTING, BEGUN, COMMIT, GONE, FLAG = "setting", "begun", "commit", "gone", "flag"


@dataclass(frozen=True, slots=True)
class Commit:
    """A committed state.

    `totals` are sums by name; `next_doc`, `next_chunk` and `next_row` the next free keys; `folded`
    the commit whose rows of document frequencies are the oldest that count, `unfolded` how many
    commits added rows since, `folded_at` when that was if older rows are still there (seconds since
    1970); `dimensions` those of the vectors, 0 if there are none; `mean_length` the mean of a chunk
    with which sparse vectors are made; `cleaned` the oldest state of which all rows are there.
    """

    number: int = 0
    totals: Mapping[str, int] = field(default_factory=dict)
    next_doc: int = 1
    next_chunk: int = 1
    next_row: int = 1
    folded: int = 0
    unfolded: int = 0
    folded_at: int = 0
    dimensions: int = 0
    mean_length: float = 0.0
    cleaned: int = 0

    def body(self) -> str:
        """Return the commit as JSON."""
        return orjson.dumps(asdict(self)).decode()


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A removed document, the commit that removed it, and when (seconds since 1970)."""

    doc: int
    number: int
    at: int


@dataclass(frozen=True, slots=True)
class IndexState:
    """What one request reads: the settings, the last commit, and the tombstones up to it.

    `has_begun` is whether a writer began a commit after it.
    """

    settings: Mapping[str, str]
    commit: Commit
    gone: tuple[Tombstone, ...]
    has_begun: bool

    @property
    def own_settings(self) -> dict[str, str]:
        """The settings of the index without those of the engine."""
        return {name: value for name, value in self.settings.items() if not name.startswith(_OWN)}

    def visible(self) -> list[str]:
        """Return the expressions that select the rows of the state."""
        hidden = [each.doc for each in self.gone]
        return [
            f"born <= {self.commit.number}",
            *([f"doc not in {hidden}"] if hidden else []),
        ]


def counted_rows(commit: Commit) -> str:
    """Return the expression that selects the document frequencies of a state."""
    return f"born >= {commit.folded} and born <= {commit.number}"


def state_key(kind: str, name: str | int) -> int:
    """Return the key of a row of the collection."""
    digest = digest_of(kind.encode(), str(name).encode())
    return int.from_bytes(digest[:8], "little") >> 1


def state_row(kind: str, name: str | int, *, number: int = 0, body: str = "") -> StoredRow:
    """Return a row of the collection."""
    return {
        **NO_VECTOR,
        "key": state_key(kind, name),
        "kind": kind,
        "number": number,
        "at": int(time.time()),
        "doc": name if kind == GONE else 0,
        "body": body,
    }


def read_state(connection: MilvusConnection) -> IndexState | None:
    """Return the state of an index, None if there is none.

    Raises `Incompatible` if its collections are those of another version.
    """
    kinds = orjson.dumps([SETTING, BEGUN, COMMIT, GONE]).decode()
    fields = ["kind", "number", "at", "doc", "body"]
    try:
        rows = connection.query(STATE, f"kind in {kinds}", fields=fields)
    except NotAnIndex:
        return None
    settings: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: int(row["number"])):
        if row["kind"] == SETTING:
            name, value = orjson.loads(row["body"])
            settings[name] = value
    if VERSION_SETTING not in settings:
        return None
    _require_version(settings[VERSION_SETTING], name=connection.address.name)
    bodies = {row["number"]: row["body"] for row in rows if row["kind"] == COMMIT}
    commit = Commit()
    if bodies:
        commit = Commit(**orjson.loads(bodies[max(bodies)]))
    gone = {
        row["doc"]: Tombstone(row["doc"], row["number"], row["at"])
        for row in rows
        if row["kind"] == GONE and row["number"] <= commit.number
    }
    has_begun = any(row["kind"] == BEGUN and row["number"] > commit.number for row in rows)
    return IndexState(settings, commit, tuple(gone[doc] for doc in sorted(gone)), has_begun)


def _require_version(version: str, *, name: str) -> None:
    if version != str(VERSION):
        raise Incompatible(
            f"{name}: its collections have version {version}, and this crx knows {VERSION}; "
            "use the crx that made them, or copy the index to another collection"
        )
