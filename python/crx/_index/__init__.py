"""The index on disk: reading it, writing to it, checking it.

`Index` and `open` are imported on first access, so that what only reads imports less.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crx._index.handle import Index, open

__all__ = ["Index", "open"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module("crx._index.handle"), name)
    globals()[name] = value
    return value
