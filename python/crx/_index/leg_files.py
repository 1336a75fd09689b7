"""The files of both legs of an index folder, and how they are opened."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from crx import _native
from crx._index.bm25_files import open_bm25
from crx._index.seal_key import seal_key
from crx._index.vector_leg import VectorLeg
from crx.config import Settings
from crx.errors import UsageError
from crx.plugins import load_shipped

_OWN_GRAPH = "crx"
_GRAPHS = (_OWN_GRAPH, "usearch")
# More rows than there are: crx's own graph is not built.
_NEVER = (1 << 63) - 1


class VectorFiles(NamedTuple):
    """Which files a writer makes of the vectors; see the settings of these names."""

    ann_above: int
    ann: str

    @classmethod
    def of(cls, settings: Settings) -> VectorFiles:
        """Return what the settings ask for; `UsageError` for an unknown graph."""
        if settings.ann not in _GRAPHS:
            raise UsageError(f"ann={settings.ann}: no such graph; take {' or '.join(_GRAPHS)}")
        return cls(settings.ann_above, settings.ann)


class LegFiles(NamedTuple):
    """The derived files of the index folder at `path`."""

    path: Path
    vectors: VectorFiles

    @property
    def folder(self) -> Path:
        """The folder of all derived files."""
        return self.path / "derived"

    @property
    def bm25(self) -> Path:
        """The folder of BM25."""
        return self.folder / "bm25"

    def open_lexical(self, *, write: bool) -> _native.Lexical:
        """Open BM25; raises `Damaged`."""
        return open_bm25(self.bm25, write=write)

    def open_dense(self, *, write: bool) -> VectorLeg:
        """Open the dense leg; files that do not match their hashes are its `faults`.

        Raises `UsageError` if it is that of usearch, and the package is not installed.
        """
        key, above = seal_key(), self.vectors.ann_above
        if self.vectors.ann == _OWN_GRAPH:
            return _native.Dense.open(str(self.folder), seal_key=key, write=write, ann_above=above)
        usearch = load_shipped("crx.graphs", "usearch")
        usearch.load_usearch()
        scan = _native.Dense.open(str(self.folder), seal_key=key, write=write, ann_above=_NEVER)
        leg: VectorLeg = usearch.UsearchLeg(scan, self.folder, key, above)
        return leg

    def open_trigrams(self) -> _native.Trigrams:
        """Open the filter of patterns; a file that does not match its seal is its `faults`."""
        return _native.Trigrams.open(str(self.folder), seal_key=seal_key())
