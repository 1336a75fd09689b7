"""Settings that are fixed when an index is made: those of the index go before every default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from crx.config._resolve import Resolved
from crx.config.settings import ARGUMENT, Settings, Value, describe, parse, setting_values
from crx.errors import Damaged, Incompatible, NotAnIndex

# Settings that are fixed when an index is made.
FIXED = tuple(each.name for each in describe() if each.scope == "index")
# Those of them that an index of any version has.
_REQUIRED = ("embedder", "contexts")


def fixed_settings(settings: Settings) -> dict[str, str]:
    """Return the settings that a new index is built with, as it stores them."""
    values = setting_values(settings)
    return {name: str(values[name]) for name in FIXED}


def settings_asked_for(resolved: Resolved) -> dict[str, Value]:
    """Return the settings in effect, by name, without defaults that are for new indexes."""
    return {
        name: value
        for name, value in setting_values(resolved.settings).items()
        if name not in FIXED or resolved.origins[name] == ARGUMENT
    }


def settings_of_index(path: str, *, built: Mapping[str, str], resolved: Resolved) -> Settings:
    """Return the settings in effect on an index: what it was built with, and the user's others.

    Settings files and variables count for new indexes where the index has a value of its own.
    Raises `Incompatible` if an argument contradicts it, and `NotAnIndex` if the creation of the
    index was interrupted before its settings, and `Damaged` if it lacks one that every index has.
    """
    if not built:
        raise NotAnIndex(
            f"{path}: its creation was interrupted; `crx index PATH... --index {path}` completes it"
        )
    for name in _REQUIRED:
        if name not in built:
            raise Damaged(f'{path}: lacks its setting {name}; "crx salvage" takes what is intact')
    own: dict[str, Value] = {}
    for name, asked in _fixed_here(built, resolved):
        if resolved.origins[name] == ARGUMENT and asked != built[name]:
            raise Incompatible(
                f"{path}: built with {name} = {built[name]}, not {asked}; "
                f"leave it out, or index into a new folder: crx index PATH --index DIR "
                f"--set {name}={asked}"
            )
        own[name] = parse(name, built[name], origin=path)
    return replace(resolved.settings, **own)  # type: ignore[arg-type]


def describe_other_defaults(built: Mapping[str, str], resolved: Resolved) -> list[str]:
    """Return a line for each setting of a file or variable that an index was built without."""
    return [
        f"{name} = {asked} (from {resolved.origins[name]}) is for new indexes; this one was built "
        f"with {built[name]}"
        for name, asked in _fixed_here(built, resolved)
        if resolved.origins[name] != "default" and asked != built[name]
    ]


def _fixed_here(built: Mapping[str, str], resolved: Resolved) -> Iterator[tuple[str, str]]:
    """Yield the settings that an index has values of, each with the value that was asked for.

    An index of an earlier version may lack some.
    """
    for name, asked in fixed_settings(resolved.settings).items():
        if name in built:
            yield name, asked
