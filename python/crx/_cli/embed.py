"""`crx embed`: make the vectors that an index lacks."""

from __future__ import annotations

from dataclasses import asdict

import click

from crx._cli.disk_room import DiskRoom
from crx._cli.options import (
    existing_index,
    index_option,
    json_option,
    parse_settings,
    progress_options,
    set_option,
    workers_options,
)
from crx._cli.output import NotePrinter, display_path, print_json, print_line, print_note
from crx._cli.progress import Form, show_build
from crx._cli.second_pass import NEXT_STEP, SecondPass
from crx._index import handle
from crx.errors import UsageError
from crx.registry import NO_EMBEDDER


@click.command()
@click.argument("named", required=False, metavar="[INDEX]")
@index_option
@click.option(
    "--budget",
    default="",
    metavar="10m",
    help="Stop after a time; the next call goes on.  [default: no limit]",
)
@workers_options
@set_option
@json_option
@progress_options
def command(
    *,
    named: str | None,
    folder: str | None,
    budget: str,
    workers: int | None,
    workers_on: str | None,
    assignments: tuple[str, ...],
    as_json: bool,
    progress: Form,
) -> int:
    """Embed the chunks of INDEX that have no vector yet, the documents first that gain most.

    INDEX is an index folder; without it, it is found as by "crx search". Documents changed within
    a week of the newest come first, then the first chunks of each before the last of any;
    licences, tests and generated texts come last. Searches go on meanwhile. After an interruption
    the same command resumes.
    """
    if named is not None and folder is not None:
        raise UsageError("INDEX is given twice; give it as the argument or with --index")
    index_path = existing_index(named if named is not None else folder)
    settings = parse_settings(assignments)
    given = {"workers": workers, "workers_on": workers_on}
    settings |= {name: value for name, value in given.items() if value is not None}
    sent, room = NotePrinter(), DiskRoom(index_path)
    with room.named(), handle.open(index_path, create=False, settings=settings) as index:
        if index.settings["embedder"] == NO_EMBEDDER:
            raise UsageError(
                f"{display_path(index_path)}: was made with --embedder none and has no vectors"
            )
        second = SecondPass(index, quiet=progress == "none")
        with second.explained(), show_build(progress, as_json=as_json) as show:
            on_progress = second.watch(room.watch(show))
            report = index.embed(budget=budget, on_progress=on_progress, on_notice=sent.print)
        chunks = index.store.stats()["chunks"]
    if as_json:
        print_json({"index": str(index_path), "chunks": chunks, **asdict(report)})
        return 0
    have = chunks - report.pending
    share = f"{have:,} of {chunks:,} chunks have their vector"
    print_line(f"{display_path(index_path)}: {report.embedded:,} embedded; {share}")
    if report.pending:
        print_note(f"the time is up; {NEXT_STEP}")
    return 0
