"""Printing: answers to stdout, notes and progress to stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeVar

import click
import orjson

from crx.ingest.paths import uri_of

if TYPE_CHECKING:
    from crx.context.report import ContextProgress
    from crx.ingest.report import Progress

Now = TypeVar("Now", "Progress", "ContextProgress")

# Seconds between two lines of progress where stderr is no terminal.
PROGRESS_EVERY = 1.0


def say(text: str = "") -> None:
    """Print a line of the answer."""
    click.echo(text)


def say_json(value: object) -> None:
    """Print the answer as indented JSON."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
    click.echo(orjson.dumps(value, option=options).decode())


def note(text: str) -> None:
    """Print a line about the answer."""
    click.echo(f"crx: {text}", err=True)


def near(path: str | os.PathLike[str]) -> str:
    """Return a path as it is seen from the current folder, where it lies in it."""
    text = os.fsencode(path).decode("utf-8", errors="backslashreplace")
    if not os.path.isabs(path):
        return text
    relative = os.path.relpath(text, uri_of("."))
    return text if relative.startswith("..") else relative


def size(count: int) -> str:
    """Return a number of bytes as a person reads it, in powers of 1,000."""
    power = min(max(len(str(count)) - 1, 0) // 3, 3)
    value = f"{count / 1000**power:.3g}" if count < 10**12 else f"{count // 10**9:,}"
    return f"{value} {('B', 'kB', 'MB', 'GB')[power]}"


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Return rows as aligned columns; those named by `right` are flush right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def progress(*, quiet: bool = False) -> AbstractContextManager[Callable[[Progress], None]]:
    """Show a build's progress on stderr: a bar on a terminal, JSON lines elsewhere."""
    return _progress(_build_bar, quiet=quiet)


def context_progress(
    *, quiet: bool = False
) -> AbstractContextManager[Callable[[ContextProgress], None]]:
    """Show how far contexts are made, likewise."""
    return _progress(_context_bar, quiet=quiet)


@contextmanager
def _progress(
    bar: Callable[[], AbstractContextManager[Callable[[Now], None]]], *, quiet: bool
) -> Iterator[Callable[[Now], None]]:
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with bar() as show:
            yield show
    else:
        yield _lines()


def _lines() -> Callable[[Progress | ContextProgress], None]:
    last = time.monotonic()

    def show(now: Progress | ContextProgress) -> None:
        nonlocal last
        if time.monotonic() - last >= PROGRESS_EVERY:
            last = time.monotonic()
            click.echo(orjson.dumps({"progress": asdict(now)}).decode(), err=True)

    return show


@contextmanager
def _build_bar() -> Iterator[Callable[[Progress], None]]:
    with _bar("documents") as update:

        def show(now: Progress) -> None:
            failed = f", {now.failed} failed" if now.failed else ""
            detail = f"{now.chunks} chunks, {now.embedded} embedded{failed}"
            update(now.documents, max(now.found, now.documents), detail)

        yield show


@contextmanager
def _context_bar() -> Iterator[Callable[[ContextProgress], None]]:
    with _bar("chunks") as update:

        def show(now: ContextProgress) -> None:
            reused = f", {now.tokens_reused:,} tokens reused" if now.tokens_reused else ""
            dollars = now.usage.dollars if now.usage else None
            cost = f", ${dollars:.2f}" if dollars is not None else ""
            update(now.done, now.total, f"{now.per_second:.1f} a second{reused}{cost}")

        yield show


@contextmanager
def _bar(unit: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar; what is yielded takes how many are done, of how many, and a detail."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, detail="")

        def update(done: int, total: int, detail: str) -> None:
            bar.update(task, completed=done, total=total, detail=detail)

        yield update
