"""Modules of a package that are imported when they are used, for a faster start."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from types import ModuleType


def import_on_access(package: str, names: Collection[str]) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package: it imports the modules of these names."""

    def get_module(name: str) -> ModuleType:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return get_module
