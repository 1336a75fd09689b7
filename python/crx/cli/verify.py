"""`crx verify`: check every row of an index and rebuild damaged derived files."""

from __future__ import annotations

from dataclasses import asdict

import click

from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import display_path, print_json, print_line, print_note
from crx.errors import Damaged
from crx.index import handle


@click.command()
@click.option(
    "--deep", is_flag=True, help="Also look up every chunk in BM25 by its own text; takes minutes."
)
@index_option
@json_option
def command(*, folder: str | None, deep: bool, as_json: bool) -> int:
    """Check every row of the index against its hash and rebuild damaged derived files.

    Derived files are rebuilt from the rows, without running a model. Damaged vectors are embedded
    again from their text.
    """
    place = existing_index(folder)
    with handle.open(place, create=False) as index:
        found = index.verify(deep=deep)
    if as_json:
        print_json(asdict(found))
    else:
        for line in (*found.faults, *found.repaired):
            print_line(line)
        if not found.faults:
            print_line(f"{display_path(place)}: every row matches its hash")
    if found.faults:
        print_note(
            f'{display_path(place)}: damaged; "crx index PATH --rehash" writes the documents of '
            'files again; "crx salvage DEST" takes what is intact into a new folder; otherwise '
            "restore a copy of crx.db"
        )
    return Damaged.exit_code if found.faults else 0
