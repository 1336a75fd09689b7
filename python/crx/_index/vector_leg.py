"""The vectors of an index folder as a leg of the search: what a scan and a graph have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from crx import _native

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crx.retrieve.ports import Found


class VectorLeg(Protocol):
    """All vectors of one committed state; the methods are those of `_native.Dense`."""

    def __len__(self) -> int: ...
    @property
    def seq(self) -> int: ...
    @property
    def exact(self) -> bool: ...
    @property
    def faults(self) -> Sequence[str]: ...
    def snapshot(self) -> VectorLeg: ...
    def sync(self, store: _native.Store) -> int: ...
    def check(self, store: _native.Store) -> None: ...
    def publish(self, store: _native.Store) -> None: ...
    def search(
        self, query: NDArray[np.float32], *, k: int, only: _native.Filter | None = None
    ) -> Found: ...
    def spread(
        self, queries: NDArray[np.float32], *, only: _native.Filter | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], int] | None: ...
