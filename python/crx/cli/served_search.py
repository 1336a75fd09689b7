"""`crx search` done by a server of the index, in the name of the process that was started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from crx.cli import HELP_OPTIONS, search
from crx.cli.output import format_note
from crx.cli.screen import make_screen
from crx.config import is_offline, resolve_silently
from crx.errors import Incompatible, NotFound
from crx.serve.local_command import LocalAnswer, LocalCommand
from crx.serve.requests import SearchQuery
from crx.serve.service import SearchService
from crx.types import Result

# Variables that this process must share: they decide where the user's settings are.
_SHARED = ("HOME", "XDG_CONFIG_HOME")


def answer_command(service: SearchService, given: LocalCommand) -> LocalAnswer:
    """Return what the command prints.

    Raises a `CrxError` or `ValueError` for all that is not a search that this server would do in
    the same way: the command then runs by itself, and prints its own errors and warnings.
    """
    out: list[str] = []
    notes: list[str] = []

    def search_served(
        index_path: Path | str,
        query: str,
        arguments: Mapping[str, Any],
        settings: Mapping[str, object],
    ) -> Result:
        if isinstance(index_path, str):
            raise Incompatible("the command searches a database by itself")
        return _search(service, given, index_path, SearchQuery(query=query, **arguments), settings)

    caller = search.Caller(
        environ=given.environ,
        screen=make_screen(given.terminal, environ=given.environ, folder=given.folder),
        search=search_served,
        print=out.append,
        print_note=lambda note: notes.append(format_note(note)),
    )
    # Help is printed while the arguments are parsed.
    if not set(HELP_OPTIONS).isdisjoint(given.arguments):
        raise Incompatible("the command prints its help by itself")
    try:
        with search.command.make_context("search", list(given.arguments), obj=caller) as context:
            code = search.command.invoke(context)
    except (click.ClickException, click.exceptions.Exit) as error:
        raise Incompatible(f"no search: {error}") from None
    return LocalAnswer(out=_join(out), err=_join(notes), code=code)


def _search(
    service: SearchService,
    given: LocalCommand,
    index_path: Path,
    query: SearchQuery,
    settings: Mapping[str, object],
) -> Result:
    served = next((each for each in service.served if _is_same(each.path, index_path)), None)
    if served is None:
        raise NotFound(f"{index_path}: not served here")
    resolved, ignored = resolve_silently(settings, environ=given.environ, folder=Path(given.folder))
    same_home = all(given.environ.get(name) == os.environ.get(name) for name in _SHARED)
    same = is_offline(given.environ) == is_offline() and same_home and not ignored
    if not same or resolved.settings != served.get().configuration:
        raise Incompatible("the command has other settings than the server")
    return service.search_index(served, query)


def _is_same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _join(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
