"""Checks of what a caller passes where a type checker may not have looked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from types import UnionType


def each_path(
    paths: Iterable[str | os.PathLike[str] | Iterable[str | os.PathLike[str]]],
) -> Iterator[str | os.PathLike[str]]:
    """Yield paths, also those of the sequences among them; raises `TypeError` for anything else."""
    for given in paths:
        among = [given] if isinstance(given, str | os.PathLike | bytes) else given
        if not isinstance(among, Iterable):
            raise TypeError(f"add takes paths, not {type(given).__name__}")
        for path in among:
            if not isinstance(path, str | os.PathLike):
                raise TypeError(f"add takes paths, not {type(path).__name__}")
            yield path


def require_each(values: Iterable[object], kind: type | UnionType, expected: str) -> None:
    """Raise `TypeError`, with what is expected, for a value of another kind."""
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(f"{expected}, not {type(value).__name__}")
