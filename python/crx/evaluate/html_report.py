"""Self-contained HTML report with the recommendation, the table and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from crx.evaluate.plots import render_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff;
       max-width: 1500px; margin: 2em auto; padding: 0 1em; }
p { max-width: 60em; }
h1 { font-size: 1.4em; }
p.note { color: #555; }
p.recommendation { border-left: 4px solid #0072b2; padding-left: .8em; }
div.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .25em .5em; text-align: right; white-space: nowrap; }
th { border-bottom: 2px solid #222; }
td { border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { position: sticky; left: 0; background: #fff; }
th:first-child, td:first-child, table.languages :is(th, td):nth-child(2),
table.steps :is(th, td):is(:nth-last-child(3), :last-child) { text-align: left; }
table.languages { margin-top: 1.2em; }
svg { max-width: 100%; height: auto; margin: 1.2em 0; display: block; }
"""


def render_report(
    *,
    title: str,
    notes: Sequence[str],
    rows: Sequence[Sequence[str]],
    by_language: Sequence[Sequence[str]],
    recommendation: str,
    figures: Mapping[str, Figure],
) -> str:
    """Return an HTML page.

    The first of `rows` is the header of the table; its last three columns are text. `by_language`
    is a table as well, whose first two columns are text; it may be empty.
    """
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f'<p class="recommendation">{escape(recommendation)}</p>',
        *_table(rows, kind="steps"),
        *(_table(by_language, kind="languages") if by_language else ()),
        *(f'<p class="note">{escape(note)}</p>' for note in notes),
        *(_inline(name, figure) for name, figure in figures.items()),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _table(rows: Sequence[Sequence[str]], *, kind: str) -> list[str]:
    head, *body = rows
    return [
        f'<div class="scroll"><table class="{kind}"><thead>',
        _row(head, "th"),
        "</thead><tbody>",
        *(_row(row, "td") for row in body),
        "</tbody></table></div>",
    ]


def _row(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _inline(name: str, figure: Figure) -> str:
    """Return a figure as inline SVG, its ids prefixed so that they are unique on the page."""
    svg = render_figure(figure, kind="svg").decode()
    svg = svg[svg.index("<svg") :]
    return (
        svg.replace('id="', f'id="{name}-')
        .replace('"#', f'"#{name}-')
        .replace("url(#", f"url(#{name}-")
    )
