"""What several commands take: where the index is, settings by name, JSON or text."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from crx.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])

FOLDER = ".crx"


def index_option(command: Command) -> Command:
    """Add --index."""
    return click.option(
        "--index",
        "folder",
        metavar="DIR",
        help="The index folder.  [default: CRX_INDEX, else the nearest .crx here or above]",
    )(command)


def json_option(command: Command) -> Command:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def set_option(command: Command) -> Command:
    """Add --set."""
    return click.option(
        "--set",
        "assignments",
        metavar="NAME=VALUE",
        multiple=True,
        help='A setting for this run; "crx config" lists them.',
    )(command)


def settings_of(assignments: tuple[str, ...]) -> dict[str, object]:
    """Return the settings that --set gave."""
    values: dict[str, object] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise UsageError(f"--set {assignment}: want NAME=VALUE")
        values[name.strip()] = value.strip()
    return values


def find_index(folder: str | None, *, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the index folder that holds here, or None where none is named or near."""
    if named := folder or environ.get("CRX_INDEX"):
        return Path(named)
    here = Path.cwd()
    for place in (here, *here.parents):
        if (place / FOLDER / "crx.db").is_file():
            return place / FOLDER
    return None


def existing_index(folder: str | None) -> Path:
    """Return the index folder that holds here; raises `UsageError` where there is none."""
    path = find_index(folder)
    if path is None:
        raise UsageError('no index here or above; "crx index PATH" makes one, --index names one')
    return path
