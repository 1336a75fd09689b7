"""The bar that shows the progress of a run on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column


@contextmanager
def open_bar() -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar until the block ends; yields what draws a moment of the run."""
    text_column = Column(no_wrap=True, overflow="ellipsis")
    columns = (
        BarColumn(bar_width=16),
        TextColumn("{task.fields[text]}", markup=False, table_column=text_column),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, text="")

        def draw(done: int, total: int, text: str) -> None:
            bar.update(task, completed=done, total=total or None, text=text)

        yield draw
