"""`crx backup`: copy an index while it is in use."""

from __future__ import annotations

from pathlib import Path

import click

from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import print_json, print_line
from crx.index import handle


@click.command()
@click.argument("dest", type=click.Path(path_type=Path))
@index_option
@json_option
def command(*, dest: Path, folder: str | None, as_json: bool) -> None:
    """Copy the index, as of its last commit, into the new folder DEST.

    Another process may write to the index meanwhile. The copy holds the database alone; what is
    derived from it is rebuilt when the copy is first searched, without running a model.
    """
    with handle.open(existing_index(folder), create=False) as index:
        target = index.backup(dest)
    size = (target / "crx.db").stat().st_size
    if as_json:
        print_json({"index": str(target), "bytes": size})
    else:
        print_line(f"{target}: {size:,} bytes copied")
