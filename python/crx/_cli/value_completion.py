"""Values that a shell completes: names of settings and models, files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import click
from click.shell_completion import CompletionItem

from crx.config import describe
from crx.retrieve.query_fields import NAMES


def complete_setting(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the settings whose names start with the input."""
    return beginning((each.name for each in describe()), incomplete)


def complete_assignment(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the settings whose names start with the input, as NAME=."""
    return beginning((f"{each.name}=" for each in describe()), incomplete)


def complete_model(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the installed models whose names start with the input."""
    # Imported here: every command has completions, and few list models.
    from crx._models.store import list_models

    return beginning(list_models(), incomplete)


def complete_pullable_model(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the pullable models whose names start with the input."""
    # Imported here, as the model store.
    from crx._models.pinned_wheels import PINNED_WHEELS

    return beginning((pin.model for pin in PINNED_WHEELS), incomplete)


def complete_query(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the fields that a word of a query may be, or the paths that `path:` names."""
    if incomplete.startswith("path:"):
        return beginning((f"path:{path}" for path in _paths_beside(incomplete[5:])), incomplete)
    return beginning((f"{name}:" for name in NAMES), incomplete)


def _paths_beside(path: str) -> Iterator[str]:
    """Yield what is in the folder of a path that is typed, folders with a slash."""
    folder = os.path.dirname(path)
    try:
        with os.scandir(folder or ".") as entries:
            for each in sorted(entries, key=lambda entry: entry.name):
                if not each.name.startswith("."):
                    yield os.path.join(folder, each.name) + "/" * each.is_dir()
    except OSError:  # no such folder
        return


def complete_file(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return an item that makes the shell complete a path."""
    return [CompletionItem(incomplete, type="file")]


def beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """Return the names that start with the input."""
    return [name for name in names if name.startswith(incomplete)]
