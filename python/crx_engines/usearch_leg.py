"""The dense leg with a graph of usearch, an approximate index that other programs can read.

The graph is `derived/usearch-N.usearch`, made when a writer publishes, of all vectors that the
store then has. It answers a search without a filter as long as nothing has been committed since;
any other search compares the query with every vector that the filter leaves.

The file has no checksum, and a damaged one ends the process that opens it. So its keyed hash is
kept in the store, and the graph is made from the very bytes whose hash was compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.errors import UsageError
from crx.retrieve.ports import Found

# The setting of the store that names the graph's file, with its sequence number and its hash.
SEAL_SETTING = "usearch_seal"

# As those of crx's own graph: links of a node, candidates when a row is added and in a search.
_LINKS, _ADDED, _SEARCHED = 16, 128, 256
# With more, the same rows give another graph each time.
_BUILD_THREADS = 1
# A graph of which more than this share of the rows has changed is made anew.
_MAX_CHANGED = 0.2

Keys = NDArray[np.int64]
Rows = NDArray[np.float16]


class _Seal(NamedTuple):
    """The name of the graph's file, the state that it is of, and its keyed hash."""

    file: str
    seq: int
    digest: str


@dataclass(frozen=True, slots=True)
class _Graph:
    seq: int
    index: Any


@dataclass(slots=True)
class UsearchLeg:
    """A scan of all vectors, and the graph, if there are more than `above`."""

    scan: _native.Dense
    folder: Path
    seal_key: bytes
    above: int
    graph: _Graph | None = None
    graph_faults: list[str] = field(default_factory=list)

    @property
    def seq(self) -> int:
        return self.scan.seq

    def __len__(self) -> int:
        return len(self.scan)

    @property
    def exact(self) -> bool:
        """Whether a search without a filter compares the query with every vector."""
        return self._current() is None

    @property
    def faults(self) -> Sequence[str]:
        """Files that could not be used since it was opened, a line each."""
        return [*self.scan.faults, *self.graph_faults]

    def snapshot(self) -> UsearchLeg:
        """Return a leg of the vectors that this one has now; they stay as they are."""
        return replace(self, scan=self.scan.snapshot(), graph_faults=list(self.graph_faults))

    def sync(self, store: _native.Store) -> int:
        """Apply the store's changes; return the number of documents read."""
        changed = self.scan.sync(store)
        self._load(store)
        return changed

    def check(self, store: _native.Store) -> None:
        """Apply the store's changes after checking all bytes of the files."""
        self.scan.check(store)
        self.graph = None
        self._load(store)

    def publish(self, store: _native.Store) -> None:
        """Apply the store's changes and publish the files, with the graph if there are enough."""
        self.scan.publish(store)
        self._load(store)
        if len(self.scan) <= self.above or self._current() is not None:
            return
        keys, rows = _read_rows(store)
        index = _make_index(keys, rows, before=self.graph.index if self.graph else None)
        self.graph = _Graph(self.scan.seq, index)
        self._write(store, self.graph)

    def search(
        self, query: NDArray[np.float32], *, k: int, only: _native.Filter | None = None
    ) -> Found:
        """Return the k rows of largest inner product with the (d,) query, and the products."""
        graph = self._current()
        if graph is None or only is not None or not k:
            return self.scan.search(query, k=k, only=only)
        if len(query) != graph.index.ndim:
            return self.scan.search(query, k=k)
        matches = graph.index.search(query, max(k, _SEARCHED))
        # Equal products go to the smaller key.
        keys = np.sort(matches.keys.astype(np.int64))
        rows = np.stack(graph.index.get(keys)).astype(np.float16)
        found, scores = _native.dense_topk(rows, query, k=k)
        return keys[found], scores

    def spread(
        self, queries: NDArray[np.float32], *, only: _native.Filter | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], int] | None:
        """Return what `_native.Dense.spread` does; None if there is a graph."""
        return self.scan.spread(queries, only=only) if self.exact else None

    def _current(self) -> _Graph | None:
        """Return the graph if it is of the present state."""
        graph = self.graph
        return graph if graph is not None and graph.seq == self.scan.seq else None

    def _load(self, store: _native.Store) -> None:
        """Load the graph of the present state, if there is one and its hash holds."""
        seal = _parse_seal(store.settings().get(SEAL_SETTING, ""))
        if seal is None or seal.seq != self.scan.seq or self._current() is not None:
            return
        path = self.folder / seal.file
        # A link or a pipe raises `Damaged`, as it does for the other files of an index.
        content = _native.read_file(self.folder.parent, f"{self.folder.name}/{seal.file}")
        if content is None:
            return
        if _digest(content, self.seal_key) != seal.digest:
            fault = f"{path}: does not match its seal; vectors are compared one by one"
            if fault not in self.graph_faults:
                self.graph_faults.append(fault)
            return
        # Not as a view, which would keep no reference to the bytes.
        index = load_usearch().Index.restore(content)
        self.graph = _Graph(seal.seq, index)

    def _write(self, store: _native.Store, graph: _Graph) -> None:
        """Write the graph's file, name it in the store, and remove older ones."""
        name = f"usearch-{graph.seq}.usearch"
        content = bytes(graph.index.save())
        _native.replace_file(self.folder.parent, f"{self.folder.name}/{name}", content)
        seal = _Seal(name, graph.seq, _digest(content, self.seal_key))
        store.set_settings({SEAL_SETTING: " ".join(map(str, seal))})
        self.graph_faults = []
        for old in self.folder.glob("usearch-*"):
            if old.name != name:
                _native.remove_file(self.folder.parent, f"{self.folder.name}/{old.name}")


def load_usearch() -> Any:
    """Return the package's module of indexes; `UsageError` if it is not installed."""
    # First, because it crashes if it is loaded after usearch 2.26, which makes the symbols of its
    # kernels global.
    import_module("crx._models.onnx_runtime")
    try:
        return import_module("usearch.index")
    except ImportError as error:
        raise UsageError(
            f'ann=usearch: not loaded ({error}); pip install "crx[usearch]", or set ann=crx'
        ) from error


def _make_index(keys: Keys, rows: Rows, *, before: Any) -> Any:
    """Return an index of the rows: that of an earlier state with its changes, or a new one."""
    index = _updated(before, keys, rows) if before is not None else None
    if index is None:
        index = load_usearch().Index(
            ndim=rows.shape[1],
            metric="ip",
            dtype="f16",
            connectivity=_LINKS,
            expansion_add=_ADDED,
            expansion_search=_SEARCHED,
        )
        index.add(keys.astype(np.uint64), rows, threads=_BUILD_THREADS)
    return index


def _updated(before: Any, keys: Keys, rows: Rows) -> Any:
    """Return the index with what has changed, or None if that is too much."""
    if before.ndim != rows.shape[1]:
        return None
    known = np.fromiter(before.keys, np.int64, len(before))
    old = np.stack(before.get(known)).astype(np.float16) if len(known) else rows[:0]
    row_of = {key: at for at, key in enumerate(known.tolist())}
    added = [
        at
        for at, key in enumerate(keys.tolist())
        if key not in row_of or not np.array_equal(old[row_of[key]], rows[at])
    ]
    removed = set(known.tolist()) - set(keys.tolist())
    removed |= {key for key in keys[added].tolist() if key in row_of}
    if len(added) + len(removed) > _MAX_CHANGED * len(keys):
        return None
    index = before.copy()
    if removed:
        index.remove(np.array(sorted(removed), np.uint64))
    if added:
        index.add(keys[added].astype(np.uint64), rows[added], threads=_BUILD_THREADS)
    return index


def _read_rows(store: _native.Store) -> tuple[Keys, Rows]:
    """Return the keys of all chunks with a vector, ascending, and their vectors."""
    pairs = sorted(_vectors(store))
    keys = np.array([key for key, _ in pairs], np.int64)
    return keys, np.stack([np.frombuffer(row, "<f2") for _, row in pairs]).astype(np.float16)


def _vectors(store: _native.Store) -> Iterator[tuple[int, bytes]]:
    for document in store.documents():
        keys = store.chunk_keys(document.doc).tolist()
        # The vector that a chunk has, which may be that of an earlier text.
        vectors = store.vectors([found for _, _, found in store.chunk_links(document.doc)])
        yield from ((key, row) for key, row in zip(keys, vectors, strict=True) if row is not None)


def _digest(content: bytes, key: bytes) -> str:
    return hashlib.blake2b(content, key=key, digest_size=32).hexdigest()


def _parse_seal(text: str) -> _Seal | None:
    parts = text.split(" ")
    if len(parts) != 3 or not parts[1].isdecimal() or Path(parts[0]).name != parts[0]:
        return None
    return _Seal(parts[0], int(parts[1]), parts[2])
