"""`crx index`: make or refresh an index."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crx import index as handle
from crx.cli.contextualize import as_told, note_failed, print_outcome
from crx.cli.options import (
    FOLDER,
    find_index,
    index_option,
    json_option,
    set_option,
    settings_of,
)
from crx.cli.output import context_progress, near, note, progress, say, say_json
from crx.errors import InputError, UsageError
from crx.registry import parse_contexts

if TYPE_CHECKING:
    from crx.ingest.report import Report

# Failed inputs that are named one by one; the rest is counted.
FAILURES_NAMED = 20


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@index_option
@click.option(
    "--contexts",
    metavar="HOW",
    help="none, outline, FILE, outline+FILE, or a model such as llama:PATH: a second pass then.",
)
@click.option("--embedder", metavar="SPEC", help="A model's name, st:PATH, hashed, ...")
@click.option("--exclude", metavar="GLOB", multiple=True, help="Leave out; as in .gitignore.")
@click.option("--rehash", is_flag=True, help="Read every file; write damaged documents anew.")
@set_option
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(
    *,
    paths: tuple[Path, ...],
    folder: str | None,
    contexts: str | None,
    embedder: str | None,
    exclude: tuple[str, ...],
    rehash: bool,
    assignments: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> int:
    """Make the index hold what PATHS hold.

    New, changed, renamed and deleted files are found by their content; what has not changed costs
    nothing. Interrupted, the same command goes on where it stopped. The exit code is 3 where an
    input could not be read, or a chunk failed to get its context.
    """
    for path in paths:  # before an index is made for it
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder; nothing was indexed")
    settings = settings_of(assignments)
    settings |= {name: v for name, v in (("embedder", embedder),) if v is not None}
    spec = parse_contexts(contexts) if contexts is not None else None
    if spec is not None and not spec.is_file:
        settings["contexts"] = contexts = "outline" if spec.outline else "none"
    place = find_index(folder) or Path(FOLDER)
    with handle.open(place, settings=settings) as index:
        with progress(quiet=quiet) as show:
            report = index.add(
                *paths, contexts=contexts, exclude=exclude, rehash=rehash, on_progress=show
            )
        if not as_json:
            say(f"{near(place)}: {summary(report)}")
        _name_failures(report)
        source = parse_contexts(contexts or index.settings["contexts"]).source
        code = note_failed(report.contexts, source)
        told = {"index": str(place), **asdict(report)}
        try:
            if spec is not None and spec.source and not spec.is_file:
                with context_progress(quiet=quiet) as advance:
                    outcome = index.contextualize(spec.source, on_progress=advance)
                told["contextualized"] = as_told(outcome)
                print_outcome(outcome, place, quiet=as_json)
                code = note_failed(outcome.made, spec.source)
        finally:  # what was indexed is told however the contexts fare
            if as_json:
                say_json(told)
    if report.failures or code:
        return InputError.exit_code
    return 0 if report.added or report.changed or report.unchanged or report.renamed else 1


def _name_failures(report: Report) -> None:
    for failure in report.failures[:FAILURES_NAMED]:
        note(f"{near(failure.uri)}: {failure.reason}")
    if len(report.failures) > FAILURES_NAMED:
        note(f'and {len(report.failures) - FAILURES_NAMED} more failed; "crx status" lists them')


def summary(report: Report) -> str:
    """Return what a build did, in one line."""
    parts = [
        f"{getattr(report, name)} {name}"
        for name in ("added", "changed", "renamed", "removed", "unchanged", "skipped")
        if getattr(report, name)
    ]
    if report.failures:
        parts.append(f"{len(report.failures)} failed")
    done = ", ".join(parts) or "no readable files"
    windowed = f" ({report.windowed} in several windows)" if report.windowed else ""
    return f"{done}; {report.chunks} chunks put, {report.embedded} embedded{windowed}"
