"""`crx list`: the user's indexes."""

from __future__ import annotations

import os

import click

from crx._cli.options import json_option
from crx._cli.output import display_path, print_json, print_note, print_text
from crx._cli.tables import format_table
from crx._index.reader import open_reader
from crx.config._own_indexes import read_own_indexes
from crx.errors import CrxError
from crx.labels import count_label


@click.command("list")
@json_option
def command(*, as_json: bool) -> int:
    """List the indexes that "crx index" made or refreshed, which "crx search -g" searches."""
    counted: dict[str, int] = {}
    for path in read_own_indexes(os.environ):
        try:
            with open_reader(path) as index:
                counted[str(path)] = index.store.stats()["documents"]
        except CrxError as error:
            print_note(str(error))
    if as_json:
        print_json([{"index": path, "documents": count} for path, count in counted.items()])
    elif counted:
        rows = [(display_path(path), count_label(n, "document")) for path, n in counted.items()]
        print_text(format_table(rows))
    else:
        print_note('no index yet; "crx index PATH" makes one')
    return 0 if counted else 1
