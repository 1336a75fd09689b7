"""`crx gc`: delete what no document of the index uses."""

from __future__ import annotations

import click

from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import print_json, print_line
from crx.index import handle


@click.command()
@index_option
@click.option(
    "--contexts",
    is_flag=True,
    help="Delete unused contexts too, which take a model's time to make again.",
)
@json_option
def command(*, folder: str | None, contexts: bool, as_json: bool) -> None:
    """Delete vectors and texts of documents that have left the index."""
    with handle.open(existing_index(folder), create=False) as index:
        dropped = index.gc(contexts=contexts)
    if as_json:
        print_json(dropped)
    else:
        print_line(", ".join(f"{count} {name}" for name, count in dropped.items()) + " deleted")
