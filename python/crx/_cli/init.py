"""`crx init`: make an empty index of a project in the current folder, with its settings."""

from __future__ import annotations

import os
from pathlib import Path

import click

from crx._cli.first_model import settle_embedder
from crx._cli.options import (
    embedder_option,
    find_index,
    index_option,
    not_a_link,
    parse_settings,
    set_option,
)
from crx._cli.output import display_path, print_line, print_note
from crx._index import handle
from crx._index.nearest_index import FOLDER
from crx.config import ARGUMENT, PROJECT_FILE, parse, require_inside, write
from crx.errors import UsageError


@click.command()
@index_option
@embedder_option
@set_option
def command(*, folder: str | None, embedder: str | None, assignments: tuple[str, ...]) -> None:
    """Make an empty index in ./.crx, also if there is an index in a folder above.

    "crx index PATH" makes an index by itself; this command is for a project whose settings are to
    differ. What --embedder and --set give is written to ./crx.toml, which every crx command in this
    folder and below it reads; what is fixed when an index is made is also stored in the index.
    """
    settings = parse_settings(assignments)
    settings |= {name: v for name, v in (("embedder", embedder),) if v is not None}
    values = {name: parse(name, value, origin=ARGUMENT) for name, value in settings.items()}
    above = find_index(None)
    named = folder or os.environ.get("CRX_INDEX")
    index_path = Path(named) if named else not_a_link(Path(FOLDER))
    if (index_path / "crx.db").exists():
        raise UsageError(f'{index_path}: exists already; "crx status" prints what it holds')
    with handle.open(index_path, settings=settle_embedder(index_path, settings)) as index:
        built = index.settings
    print_line(f"{display_path(index_path)}: an empty index with the embedder {built['embedder']}")
    if values:
        write(require_inside(Path.cwd() / PROJECT_FILE, folder=Path.cwd()), values)
        listed = ", ".join(f"{name} = {value}" for name, value in values.items())
        print_line(f"{PROJECT_FILE}: {listed}")
    if above is not None and index_path == Path(FOLDER):
        print_note(f"used here from now on, instead of {display_path(above)}")
    print_note('"crx index PATH" adds documents; "crx config" prints the settings')
