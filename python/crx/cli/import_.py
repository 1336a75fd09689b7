"""`crx import`: take in contexts that were made elsewhere."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from crx import index as handle
from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import note, say, say_json
from crx.context.exchange import Imported
from crx.errors import InputError

# Spans without a chunk that are named one by one; the rest is counted.
SPANS_NAMED = 20


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@index_option
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the paths in FILE begin.  [default: the current folder]",
)
@json_option
def command(*, file: Path, folder: str | None, root: Path | None, as_json: bool) -> int:
    """Give the chunks of the index the contexts in FILE, embed them and make them searchable.

    A context belongs to a chunk of exactly its span and, where the file holds a hash of it, its
    text. Those without one are named, and the exit code is 3; the others are taken in.
    """
    with handle.open(existing_index(folder), create=False) as index:
        imported = index.import_contexts(file, root=root)
    if as_json:
        say_json(asdict(imported))
    else:
        say(f"{file}: {imported.linked:,} contexts taken in{_unchecked(imported)}")
    for name in imported.unknown_documents[:SPANS_NAMED]:
        note(f"{name}: not in the index; --root says where the paths of the file begin")
    for record in imported.unmatched_spans[:SPANS_NAMED]:
        note(f"{record.document}: no chunk is {record.start}..{record.end}")
    for record in imported.differing[:SPANS_NAMED]:
        note(f"{record.document}: text differs at {record.start}..{record.end}; it was edited")
    lists = (imported.unmatched_spans, imported.unknown_documents, imported.differing)
    unnamed = sum(max(0, len(each) - SPANS_NAMED) for each in lists)
    if unnamed:
        note(f"and {unnamed:,} more; --json lists all")
    return 0 if imported.whole else InputError.exit_code


def _unchecked(imported: Imported) -> str:
    if not imported.unchecked:
        return ""
    return f", {imported.unchecked:,} unchecked: the file has no hash of their text"
