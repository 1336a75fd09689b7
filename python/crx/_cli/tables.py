"""Tables as text."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from crx._cli.visible import visible_line

# Columns of a table whose text wraps are not made narrower than this.
_NARROWEST = 20


def format_table(
    rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), width: int | None = None
) -> str:
    """Return rows as aligned columns; those that `right` names are flush right.

    With a `width`, the last column wraps within it, if that leaves it room.
    """
    from rich import console, table, text  # take longer than what most commands do

    cells = [[text.Text(visible_line(cell)) for cell in row] for row in rows]
    widths = [max(row[at].cell_len for row in cells) for at in range(len(cells[0]))]
    before = sum(widths[:-1]) + 2 * len(widths[:-1])
    wraps = width is not None and width - before >= _NARROWEST
    made = table.Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for at, each in enumerate(widths):
        last = at == len(widths) - 1
        made.add_column(
            width=None if last and wraps else each,
            justify="right" if at in right else "left",
            overflow="fold",
        )
    for row in cells:
        made.add_row(*row)
    # Plain text, as wide as it is: colors and the width of a terminal are not rich's concern here.
    screen = console.Console(color_system=None, width=width if wraps else before + widths[-1] + 2)
    with screen.capture() as captured:
        screen.print(made)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def fit_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as columns, of which the last wraps within the width of a terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return format_table(rows, width=width)
