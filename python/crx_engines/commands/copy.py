"""`crx copy`: copy an index between a folder and a database."""

from __future__ import annotations

import time
from dataclasses import asdict

import click

from crx._cli.filters import parse_where
from crx._cli.options import json_option, where_option
from crx._cli.output import print_json, print_line, print_note
from crx._cli.progress import PLAIN_EVERY_S
from crx.errors import UsageError
from crx_engines.engine.protocol import GraphBuilder
from crx_engines.folder.copy import CopyProgress, copy_documents, open_engine


@click.command()
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@where_option
@click.option(
    "--hnsw",
    is_flag=True,
    help="Build an HNSW graph of the vectors of a database when they are copied; without it every "
    "search compares all of them.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@json_option
def command(
    *,
    source: str,
    target: str,
    conditions: tuple[str, ...],
    hnsw: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Copy the index SRC, with contexts and vectors, into DST; no model runs.

    Each is a folder, or the address of an engine that is installed, such as
    postgresql://user@host/database. Documents that DST has already are left alone, so that the same
    command goes on where it was interrupted; other documents of DST stay. In the end every document
    is read back and compared.
    """
    origin, destination = open_engine(source), open_engine(target)
    if hnsw and not isinstance(destination, GraphBuilder):
        raise UsageError(f"{target}: --hnsw is for a database; a folder has a graph of its own")
    try:
        report = copy_documents(
            origin,
            destination,
            where=parse_where(conditions) or None,
            on_progress=(lambda _: None) if quiet else _ProgressLines().show,
        )
        if hnsw and isinstance(destination, GraphBuilder):
            destination.build_graph()
    finally:
        origin.close()
        destination.close()
    if as_json:
        print_json(asdict(report))
        return
    print_line(
        f"{report.target}: {report.documents:,} documents, {report.chunks:,} chunks; "
        f"{report.copied:,} copied, {report.unchanged:,} were there; all read back"
    )


class _ProgressLines:
    """Lines on stderr: one every few seconds."""

    def __init__(self) -> None:
        self._next = time.monotonic() + PLAIN_EVERY_S

    def show(self, progress: CopyProgress) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PLAIN_EVERY_S
            print_note(f"{progress.done:,} of {progress.total:,} documents {progress.step}")
