"""`crx backup`, `gc`, `rebuild`, `verify` and `salvage`: copies, checks and repairs of an index."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import click

from crx._cli.options import existing_index, index_option, json_option
from crx._cli.output import display_path, print_json, print_line, print_note
from crx._context.archive import FILE
from crx._index import handle
from crx._index.salvage import Salvaged, salvage_with_archive
from crx.config import fixed_settings, resolve
from crx.errors import Damaged, InputError


@click.command()
@click.argument("dest", type=click.Path(path_type=Path))
@index_option
@json_option
def back_up(*, dest: Path, folder: str | None, as_json: bool) -> None:
    """Copy the index, at its last commit, into the new folder DEST.

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


@click.command()
@index_option
@click.option(
    "--contexts",
    is_flag=True,
    help="Delete unused contexts too, which take a model's time to make again.",
)
@json_option
def delete_unused(*, folder: str | None, contexts: bool, as_json: bool) -> None:
    """Delete vectors and texts of documents that have left the index."""
    with handle.open(existing_index(folder), create=False) as index:
        dropped = index.gc(contexts=contexts)
    if as_json:
        print_json(dropped)
    else:
        print_line(", ".join(f"{count} {name}" for name, count in dropped.items()) + " deleted")


@click.command()
@index_option
@json_option
def rebuild(*, folder: str | None, as_json: bool) -> None:
    """Delete the derived files of the index and make them anew from its database.

    No model runs. "crx verify" rebuilds them only if they are damaged; this command is for files
    that somebody else may have changed, or that are larger than they need to be.
    """
    index_path = existing_index(folder)
    with handle.open(index_path, create=False) as index:
        index.rebuild()
        counts = index.store.stats()
    if as_json:
        print_json({"index": str(index_path), "chunks": counts["chunks"], "bytes": counts["bytes"]})
    else:
        print_line(
            f"{display_path(index_path)}: derived files of {counts['chunks']:,} chunks made anew"
        )


@click.command()
@click.option(
    "--deep", is_flag=True, help="Also look up every chunk in BM25 by its own text; takes minutes."
)
@index_option
@json_option
def verify(*, folder: str | None, deep: bool, as_json: bool) -> int:
    """Check every row of the index against its hash and rebuild damaged derived files.

    Derived files are rebuilt from the rows, without running a model. Damaged vectors are embedded
    again from their text.
    """
    index_path = existing_index(folder)
    with handle.open(index_path, create=False) as index:
        found = index.verify(deep=deep)
    if as_json:
        print_json(asdict(found))
    else:
        for line in (*found.faults, *found.repaired):
            print_line(line)
        if not found.faults:
            print_line(f"{display_path(index_path)}: every row matches its hash")
    if found.faults:
        print_note(
            f'{display_path(index_path)}: damaged; "crx index PATH --rehash" writes the documents '
            'of files again; "crx salvage DEST" takes what is intact into a new folder; otherwise '
            "restore a copy of crx.db"
        )
    return Damaged.exit_code if found.faults else 0


@click.command()
@click.argument("dest", type=click.Path(path_type=Path))
@index_option
@json_option
def salvage(*, dest: Path, folder: str | None, as_json: bool) -> int:
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
    shown = display_path(target)
    print_line(
        f"{shown}: {found.documents:,} documents, {found.documents_in_part:,} in part, "
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
        print_note(f'"crx index PATH --index {shown}" reads what was lost from the files again')
    if found.removed_may_be_back:
        print_note(
            "the list of free pages is lost: documents that were removed before may be back, or "
            "counted as lost"
        )
