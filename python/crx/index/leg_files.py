"""The files of both legs of an index folder, and how they are opened."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from crx import _native
from crx.config import Settings
from crx.index.seal_key import seal_key
from crx.retrieve.bm25_files import open_bm25


class VectorFiles(NamedTuple):
    """Which files a writer makes of the vectors; see the settings of these names."""

    ann_above: int

    @classmethod
    def of(cls, settings: Settings) -> VectorFiles:
        """Return what the settings ask for."""
        return cls(settings.ann_above)


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

    def open_dense(self, *, write: bool) -> _native.Dense:
        """Open the dense leg; files that do not match their hashes are its `faults`."""
        return _native.Dense.open(
            str(self.folder),
            seal_key=seal_key(),
            write=write,
            ann_above=self.vectors.ann_above,
        )
