"""`crx export`: write the contexts of an index to a file."""

from __future__ import annotations

from pathlib import Path

import click

from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import display_path, print_json, print_line
from crx.index import handle


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@index_option
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder that the paths in FILE are relative to.  [default: the current folder]",
)
@json_option
def command(*, file: Path, folder: str | None, root: Path | None, as_json: bool) -> None:
    """Write the contexts of the index to FILE, as JSON lines.

    Each line is an object: {"path" | "doc_id", "start", "end", "context", "generator", "sha256"},
    the hash being that of the chunk's text. "crx import" reads them into another index of the same
    documents.
    """
    with handle.open(existing_index(folder), create=False) as index:
        count = index.export_contexts(file, root=root)
    if as_json:
        print_json({"file": str(file), "contexts": count})
    else:
        print_line(f"{display_path(file)}: {count:,} contexts written")
