"""`crx rebuild`: make the derived files of an index anew."""

from __future__ import annotations

import click

from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import display_path, print_json, print_line
from crx.index import handle


@click.command()
@index_option
@json_option
def command(*, folder: str | None, as_json: bool) -> None:
    """Delete the derived files of the index and make them anew from its database.

    No model runs. "crx verify" rebuilds them only if they are damaged; this command is for files
    that somebody else may have changed, or that are larger than they need to be.
    """
    place = existing_index(folder)
    with handle.open(place, create=False) as index:
        index.rebuild()
        counts = index.store.stats()
    if as_json:
        print_json({"index": str(place), "chunks": counts["chunks"], "bytes": counts["bytes"]})
    else:
        print_line(f"{display_path(place)}: derived files of {counts['chunks']:,} chunks made anew")
