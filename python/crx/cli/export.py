"""`crx export`: write the contexts of an index to a file that another index can take in."""

from __future__ import annotations

from pathlib import Path

import click

from crx import index as handle
from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import say, say_json


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@index_option
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Name files by their path below this folder.  [default: the current one]",
)
@json_option
def command(*, file: Path, folder: str | None, root: Path | None, as_json: bool) -> None:
    """Write the contexts of the index to FILE, as JSON lines.

    One object a line: {"path" | "doc_id", "start", "end", "context", "generator", "sha256"}; the
    hash is of the chunk's text. "crx import" takes them in where the same documents are indexed.
    """
    with handle.open(existing_index(folder), create=False) as index:
        count = index.export_contexts(file, root=root)
    if as_json:
        say_json({"file": str(file), "contexts": count})
    else:
        say(f"{file}: {count:,} contexts written")
