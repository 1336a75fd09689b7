"""`crx salvage`: take the intact rows of a damaged index into a new one."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import click

from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import display_path, print_json, print_line, print_note
from crx.config import fixed_settings, resolve
from crx.context.archive import FILE, salvage_with_archive
from crx.errors import InputError
from crx.ingest.salvage import Salvaged


@click.command()
@click.argument("dest", type=click.Path(path_type=Path))
@index_option
@json_option
def command(*, dest: Path, folder: str | None, as_json: bool) -> int:
    """Take the intact rows of a damaged index into the new folder DEST.

    Works without SQLite, so also where crx.db cannot be opened. Documents, chunks, contexts and
    vectors are taken where their hashes hold; the damaged index is only read. Contexts that the
    database lacks are taken from contexts.jsonl, also if no row is left. Stop other commands that
    write to it first. Exit code 0: nothing was lost, 3: something was, 4: nothing was found.
    """
    source, target = existing_index(folder), Path(os.path.abspath(dest))
    settings = fixed_settings(resolve().settings)
    found = salvage_with_archive(source, target, settings=settings)
    if as_json:
        print_json({"index": str(target), **asdict(found)})
    else:
        _print_counts(found, target)
    return 0 if found.is_whole else InputError.exit_code


def _print_counts(found: Salvaged, target: Path) -> None:
    place = display_path(target)
    print_line(
        f"{place}: {found.documents:,} documents, {found.documents_in_part:,} in part, "
        f"{found.chunks:,} chunks, {found.contexts:,} contexts, {found.vectors:,} vectors"
    )
    if found.contexts_archived:
        print_line(f"{found.contexts_archived:,} contexts more from {FILE}")
    if found.database_lost:
        print_line("lost: crx.db has no intact row")
    elif not found.is_whole:
        print_line(
            f"lost: {found.documents_lost:,} documents, {found.chunks_lost:,} chunks, "
            f"{found.contexts_lost:,} contexts, {found.vectors_lost:,} vectors; "
            f"{found.rows_damaged:,} rows and {found.pages_lost:,} pages are damaged"
        )
    if not found.is_whole:
        print_note(f'"crx index PATH --index {place}" reads what was lost from the files again')
    if found.removed_may_be_back:
        print_note(
            "the list of free pages is lost: documents that were removed before may be back, or "
            "counted as lost"
        )
