"""`crx watch`: keep an index equal to folders while they change."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import click

from crx._cli.first_model import settle_embedder
from crx._cli.index import choose_index, name_failures, summarize
from crx._cli.options import (
    embedder_option,
    exclude_option,
    index_option,
    parse_settings,
    set_option,
)
from crx._cli.output import print_json_line, print_line, print_note
from crx._cli.progress import show_build
from crx._index import handle
from crx.protocols import Remote
from crx_serve.watch import BackgroundEmbedder, Visit, Watcher


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(readable=False, path_type=Path))
@index_option
@embedder_option
@exclude_option
@click.option(
    "--keep-missing",
    is_flag=True,
    help='Keep the documents of files that are deleted; "crx remove" or "crx index" removes them.',
)
@click.option(
    "--on-battery",
    is_flag=True,
    help="Make the vectors of many chunks also while the machine runs on its battery.",
)
@set_option
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each visit.")
@click.option("-q", "--quiet", is_flag=True, help="Print only problems.")
def command(
    *,
    paths: tuple[Path, ...],
    folder: str | None,
    embedder: str | None,
    exclude: tuple[str, ...],
    keep_missing: bool,
    on_battery: bool,
    assignments: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> int:
    """Keep the index equal to PATHS, files or folders, while they change; Ctrl-C stops.

    PATHS are added to those that were indexed before; without PATHS, these are watched. A change
    can be found by BM25 within three seconds, by vectors when it is embedded: few chunks at once,
    many in the time that is left over, not on a battery. All files are visited at the start, every
    15 minutes and after an error. Other commands can write between two visits.
    """
    index_path = choose_index(paths, folder=folder, exclude=exclude)
    settings = parse_settings(assignments)
    settings |= {name: v for name, v in (("embedder", embedder),) if v is not None}
    settings = settle_embedder(index_path, settings)

    def report_visit(visit: Visit) -> None:
        name_failures(visit.report)
        if as_json:
            done = {"kind": visit.kind, **asdict(visit.report)}
            print_json_line({"visit": done}, file=sys.stdout)
        elif not quiet:
            print_line(f"{datetime.now():%H:%M:%S} {summarize(visit.report)}")

    with handle.open(index_path, settings=settings) as index:
        if paths:
            is_remote = isinstance(index.embedder, Remote)
            started = time.monotonic()
            with show_build("none" if quiet else "auto", as_json=as_json) as show:
                report = index.add(
                    *paths,
                    exclude=exclude or None,
                    keep_missing=keep_missing,
                    words_only=not is_remote,
                    on_progress=show,
                )
            if report.chunks or report.failures:  # else the first sweep tells all there is to tell
                report_visit(Visit(report, "sweep", time.monotonic() - started))
        watcher = Watcher(
            index,
            keep_missing=keep_missing,
            leave_many=True,
            on_visit=report_visit,
            on_problem=print_note,
        )
        leftover = BackgroundEmbedder(lambda: index, on_battery=on_battery, on_problem=print_note)
        print_note(f"watching {', '.join(index.roots)}; Ctrl-C stops")
        leftover.start()
        try:
            watcher.run()
        except KeyboardInterrupt:
            print_note("stopped")
        finally:
            leftover.close()
    return 0
