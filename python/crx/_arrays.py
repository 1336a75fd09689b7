"""Arrays for the core, made without an import of numpy by those who make none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def to_array(values: Sequence[object], dtype: str) -> NDArray[Any]:
    """Return values as an array of a type such as "uint32"."""
    import numpy as np  # takes longer than to look at a folder

    return np.array(values, dtype=dtype)
