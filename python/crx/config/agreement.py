"""Agreement of the settings that are asked for with those that an index was built with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from crx.config.resolve import Resolved
from crx.config.settings import ARGUMENT, Settings, describe
from crx.errors import Incompatible, NotAnIndex

# Settings that are fixed when an index is made.
FIXED = tuple(each.name for each in describe() if each.scope == "index")


def fixed_settings(settings: Settings) -> dict[str, str]:
    """Return the settings that a new index is built with, as it stores them."""
    values = asdict(settings)
    return {name: str(values[name]) for name in FIXED}


def require_agreement(path: str, *, built: Mapping[str, str], resolved: Resolved) -> None:
    """Raise `Incompatible` if a setting was asked for that the index was not built with.

    Raises `NotAnIndex` if the creation of the index was interrupted before its settings.
    """
    if not built:
        raise NotAnIndex(
            f"{path}: its creation was interrupted; `crx index PATH... --index {path}` completes it"
        )
    for name, asked in fixed_settings(resolved.settings).items():
        origin = resolved.origins[name]
        source = "" if origin == ARGUMENT else f" (from {origin})"
        if origin != "default" and asked != built.get(name, asked):
            raise Incompatible(
                f"{path}: built with {name} = {built[name]}, not {asked}{source}; "
                f"leave it out, or index into a new folder: crx index PATH --index DIR "
                f"--set {name}={asked}"
            )
