"""`crx export` and `crx import`: contexts of an index as a file of JSON lines."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from crx._cli.options import existing_index, index_option, json_option
from crx._cli.output import display_path, print_json, print_line, print_note
from crx._context.exchange import Imported
from crx._index import handle
from crx.errors import InputError

# Spans without a chunk that are named one by one; the rest is counted.
_SPANS_NAMED = 20

_root_option = click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder that the paths in FILE are relative to.  [default: the current folder]",
)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@index_option
@_root_option
@json_option
def export_contexts(*, file: Path, folder: str | None, root: Path | None, as_json: bool) -> None:
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


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@index_option
@_root_option
@json_option
def import_contexts(*, file: Path, folder: str | None, root: Path | None, as_json: bool) -> int:
    """Give the chunks of the index the contexts in FILE and embed them again.

    A context belongs to the chunk of exactly its span and, if FILE holds a hash of it, its text.
    Contexts without such a chunk are named, and the exit code is 3; the others are imported.
    """
    with handle.open(existing_index(folder), create=False) as index:
        imported = index.import_contexts(file, root=root)
    if as_json:
        print_json(asdict(imported))
    else:
        name = display_path(file)
        print_line(f"{name}: {imported.linked:,} contexts imported{_unchecked(imported)}")
    for name in imported.unknown_documents[:_SPANS_NAMED]:
        print_note(f"{name}: not in the index; --root names the folder its path is relative to")
    for record in imported.unmatched_spans[:_SPANS_NAMED]:
        print_note(f"{record.document}: no chunk is {record.start}..{record.end}")
    for record in imported.differing[:_SPANS_NAMED]:
        print_note(f"{record.document}: the text at {record.start}..{record.end} has changed")
    lists = (imported.unmatched_spans, imported.unknown_documents, imported.differing)
    unnamed = sum(max(0, len(each) - _SPANS_NAMED) for each in lists)
    if unnamed:
        print_note(f"and {unnamed:,} more; --json lists all")
    return 0 if imported.whole else InputError.exit_code


def _unchecked(imported: Imported) -> str:
    if not imported.unchecked:
        return ""
    return f", {imported.unchecked:,} of them unchecked: the file has no hash of their text"
