"""Tables and sizes as text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text as Cell

from crx.cli.visible import visible_line

# Columns of a table whose text wraps are not made narrower than this.
_NARROWEST = 20


def format_size(count: int) -> str:
    """Return a number of bytes with its unit, in powers of 1,000."""

    return decimal(count)


def format_table(
    rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), width: int | None = None
) -> str:
    """Return rows as aligned columns; those that `right` names are flush right.

    With a `width`, the last column wraps within it, if that leaves it room.
    """

    cells = [[Cell(visible_line(cell)) for cell in row] for row in rows]
    widths = [max(row[at].cell_len for row in cells) for at in range(len(cells[0]))]
    before = sum(widths[:-1]) + 2 * len(widths[:-1])
    wraps = width is not None and width - before >= _NARROWEST
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for at, each in enumerate(widths):
        last = at == len(widths) - 1
        _add_column(table, width=None if last and wraps else each, right=at in right)
    for row in cells:
        table.add_row(*row)
    # Plain text, as wide as it is: colors and the width of a terminal are not rich's concern here.
    console = Console(color_system=None, width=width if wraps else before + widths[-1] + 2)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _add_column(table: Table, *, width: int | None, right: bool) -> None:
    table.add_column(width=width, justify="right" if right else "left", overflow="fold")
