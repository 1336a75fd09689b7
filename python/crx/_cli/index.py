"""`crx index`: make or refresh an index."""

from __future__ import annotations

import difflib
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crx._cli import contextualize
from crx._cli.disk_room import DiskRoom
from crx._cli.options import (
    embedder_option,
    exclude_option,
    existing_index,
    find_index,
    index_option,
    json_option,
    not_a_link,
    parse_settings,
    progress_options,
    set_option,
    workers_options,
)
from crx._cli.output import (
    NotePrinter,
    display_path,
    print_hint,
    print_json,
    print_line,
    print_note,
)
from crx._cli.progress import Form, show_build, show_contexts
from crx._cli.second_pass import NEXT_STEP, SecondPass, describe_vectors
from crx._index import handle
from crx._index.nearest_index import FOLDER
from crx._index.open_store import is_complete
from crx.config._own_indexes import remember_index
from crx.context_registry import parse_contexts
from crx.errors import InputError, UsageError
from crx.ingest.paths import describe_os_error
from crx.labels import count_label

if TYPE_CHECKING:
    from crx.ingest.report import Report

# Failed inputs that are named one by one; the rest is counted.
_FAILURES_NAMED = 20


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(readable=False, path_type=Path))
@index_option
@click.option(
    "--contexts",
    metavar="HOW",
    help="Contexts of the chunks: none, outline, a FILE of contexts, outline+FILE, or a model such "
    "as llama:PATH, which writes them after the index is made.  [default: the setting contexts, "
    "outline]",
)
@embedder_option
@exclude_option
@workers_options
@click.option(
    "--words",
    "words_only",
    is_flag=True,
    help='Return when all files can be searched by words; "crx embed" makes the vectors.',
)
@click.option(
    "--rehash",
    is_flag=True,
    help="Read every file, also those whose size and time are unchanged, and write damaged "
    "documents again.",
)
@set_option
@json_option
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Name each file that is added, changed, renamed or skipped, or fails.",
)
@progress_options
def command(
    *,
    paths: tuple[Path, ...],
    folder: str | None,
    contexts: str | None,
    embedder: str | None,
    exclude: tuple[str, ...],
    workers: int | None,
    workers_on: str | None,
    words_only: bool,
    rehash: bool,
    assignments: tuple[str, ...],
    as_json: bool,
    verbose: bool,
    progress: Form,
) -> int:
    """Make the index hold the documents in PATHS, files or folders.

    PATHS and what --exclude leaves out of them are remembered: without PATHS, all of them are
    refreshed.

    All files are read first, and can then be searched by their words; after that, their chunks are
    embedded, those first that gain most. An interruption loses nothing: the same command resumes.

    New, changed, renamed and deleted files are recognized by their content; unchanged ones cost
    nothing. The exit code is 3 if a file could not be read, or a chunk did not get its context;
    a file that failed before and fails in the same way is counted and leaves it at 0.
    """
    index_path = choose_index(paths, folder=folder, exclude=exclude)
    settings = parse_settings(assignments)
    given = {"embedder": embedder, "workers": workers, "workers_on": workers_on}
    settings |= {name: value for name, value in given.items() if value is not None}
    spec = parse_contexts(contexts) if contexts is not None else None
    if words_only and spec is not None and spec.source and not spec.is_file:
        raise UsageError("--words leaves the models out; run crx contextualize after it")
    if spec is not None and not spec.is_file:
        settings["contexts"] = contexts = "outline" if spec.outline else "none"
    if not is_complete(index_path):
        from crx._cli.first_model import settle_embedder  # an index that there is has its model

        settings = settle_embedder(index_path, settings)
    sent = NotePrinter()
    room = DiskRoom(index_path)
    with room.named(), handle.open(index_path, settings=settings) as index:
        _remember(index_path)
        for line in index.other_defaults:
            print_note(line)
        is_first = not index.store.stats()["documents"]
        second = SecondPass(index, quiet=progress == "none")
        with (
            second.explained(),
            show_build("files" if verbose else progress, as_json=as_json) as show,
        ):
            on_progress = second.watch(room.watch(show))
            if paths:
                report = index.add(
                    *paths,
                    contexts=contexts,
                    exclude=exclude or None,
                    rehash=rehash,
                    words_only=words_only,
                    on_progress=on_progress,
                    on_notice=sent.print,
                )
            else:
                report = index.refresh(
                    contexts=contexts,
                    rehash=rehash,
                    words_only=words_only,
                    on_progress=on_progress,
                    on_notice=sent.print,
                )
        if not as_json:
            done = summarize(report)
            print_line(f"{display_path(index_path)}: {done}")
            if is_first and report.added and progress != "none":
                print_hint('crx search "QUESTION" prints the passages that answer')
        name_failures(report)
        if words_only and report.pending:
            vectors = describe_vectors(index, probe=False)
            pending = f"{report.pending:,} chunks have no vector yet; {NEXT_STEP}"
            print_note(f"{pending}; {vectors}" if vectors else pending)
        if report.failed_before:
            failed = count_label(report.failed_before, "file")
            print_note(f'{failed} failed as before; "crx status" lists them, with the reasons')
        if report.skipped:
            print_note('"crx status --skipped" lists what was skipped, and why')
        source = parse_contexts(contexts or index.settings["contexts"]).source
        code = contextualize.note_failed(report.contexts, source)
        printed = {"index": str(index_path), **asdict(report)}
        try:
            if spec is not None and spec.source and not spec.is_file:
                notes = NotePrinter()
                with show_contexts(progress, as_json=as_json) as show_context:
                    made = index.contextualize(
                        spec.source, on_progress=show_context, on_notice=notes.print
                    )
                printed["contextualized"] = contextualize.as_object(made)
                if not as_json:
                    contextualize.print_report(made, index_path)
                contextualize.print_notes(made, notes)
                code = contextualize.note_without_context(made, spec.source)
        finally:  # what was indexed is printed also if the contexts fail
            if as_json:
                print_json(printed)
    if report.failures or code:
        return InputError.exit_code
    was_read = report.added or report.changed or report.unchanged or report.renamed
    return 0 if was_read or report.failed_before else 1


def _remember(index_path: Path) -> None:
    """Add an index to the user's list; one that cannot be written is told."""
    try:
        remember_index(index_path, os.environ)
    except OSError as error:
        print_note(f'the list for "crx search -g" cannot be written: {describe_os_error(error)}')


def choose_index(paths: tuple[Path, ...], *, folder: str | None, exclude: tuple[str, ...]) -> Path:
    """Return the folder of the index that PATHS are added to, or that is refreshed without them.

    Raises `UsageError` for a path that does not exist, before an index is made for it.
    """
    found = find_index(folder)
    for path in paths:
        if not path.exists():
            is_removable = found is not None and is_complete(found)
            next_step = (
                f'; "crx remove {path}" removes what the index has of it' if is_removable else ""
            )
            if near := _similar_name(path):
                next_step = f"; did you mean {near}?{next_step}"
            raise UsageError(f"{path}: no such file or folder; nothing was indexed{next_step}")
    if exclude and not paths:
        raise UsageError("--exclude wants a PATH; what was excluded before is remembered")
    return (found or not_a_link(Path(FOLDER))) if paths else existing_index(folder)


def _similar_name(path: Path) -> str:
    """Return the path beside another whose name is most like it, "" if none is."""
    try:
        beside = [each.name for each in path.parent.iterdir()]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, beside, n=1, cutoff=0.75)
    return display_path(path.parent / near[0]) if near else ""


def name_failures(report: Report) -> None:
    """Print the first inputs that failed, with their reasons, and how many more there are."""
    for failure in report.failures[:_FAILURES_NAMED]:
        print_note(f"{display_path(failure.uri)}: {failure.reason}")
    unnamed = len(report.failures) - _FAILURES_NAMED
    if unnamed > 0:
        print_note(f'and {unnamed} more failed; "crx status" lists them')


def summarize(report: Report) -> str:
    """Return what a build did, in one line."""
    counts = {
        name: getattr(report, name)
        for name in ("added", "changed", "renamed", "removed", "kept", "unchanged")
    }
    parts = [f"{count:,} {name}" for name, count in counts.items() if count]
    if parts:
        number, name = parts[0].split()
        parts[0] = f"{number} {'file' if number == '1' else 'files'} {name}"
    if report.skipped:
        parts.append(f"{report.skipped:,} skipped")
    if report.failures:
        parts.append(f"{len(report.failures):,} failed")
    done = ", ".join(parts) or "no readable files"
    if not report.windowed:
        return done
    chunks = count_label(report.windowed, "chunk")
    return f"{done}; {chunks} longer than the embedder's window, read in parts"
