"""`crx gc`: drop what nothing points to."""

from __future__ import annotations

import click

from crx import index as handle
from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import say, say_json


@click.command()
@index_option
@click.option("--contexts", is_flag=True, help="Also contexts, which cost the most to make again.")
@json_option
def command(*, folder: str | None, contexts: bool, as_json: bool) -> None:
    """Drop vectors and texts of documents that have left the index."""
    with handle.open(existing_index(folder), create=False) as index:
        dropped = index.gc(contexts=contexts)
    if as_json:
        say_json(dropped)
    else:
        say(", ".join(f"{count} {name}" for name, count in dropped.items()) + " dropped")
