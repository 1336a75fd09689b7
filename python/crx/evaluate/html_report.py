"""Self-contained HTML report with the recommendation, the table and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from crx.evaluate.failures import FailedQuery, QuotedSpan
from crx.evaluate.plots import render_figure
from crx.evaluate.results import MAX_K

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
details, p.none { margin: .4em 0; }
summary { cursor: pointer; }
li { margin: .6em 0; max-width: 75em; overflow-wrap: anywhere; }
li code { color: #555; }
svg { max-width: 100%; height: auto; margin: 1.2em 0; display: block; }
"""


def render_report(
    *,
    title: str,
    notes: Sequence[str],
    rows: Sequence[Sequence[str]],
    by_language: Sequence[Sequence[str]],
    recommendation: str,
    failures: Sequence[tuple[str, Sequence[FailedQuery]]],
    figures: Mapping[str, Figure],
) -> str:
    """Return an HTML page.

    The first of `rows` is the header of the table; its last three columns are text. `by_language`
    is a table as well, whose first two columns are text; it may be empty. `failures` are a
    heading and the failed questions of each row.
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
        *_failures(failures),
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


def _failures(rows: Sequence[tuple[str, Sequence[FailedQuery]]]) -> list[str]:
    """Return the failed questions of each row as a list that opens on a click."""
    parts = ["<h2>Failed questions</h2>"]
    for heading, failed in rows:
        if failed:
            parts += [
                f"<details><summary>{escape(heading)}</summary><ol>",
                *map(_failed_query, failed),
                "</ol></details>",
            ]
        else:
            parts.append(f'<p class="none">{escape(heading)}</p>')
    return parts


def _failed_query(failed: FailedQuery) -> str:
    lang = f" ({escape(failed.lang)})" if failed.lang else ""
    lines = [f"<b>{escape(failed.query)}</b> <code>{escape(failed.id)}</code>{lang}"]
    for gold in failed.expected:
        rank = f"found at {gold.rank}" if gold.rank else f"not in the first {MAX_K}"
        lines += [f"<i>expected, {rank}:</i> {_quoted(span)}" for span in gold.places[:1]]
    for hit in failed.instead:
        mark = " <i>(overlaps)</i>" if hit.overlaps_gold else ""
        lines.append(f"<i>{hit.rank}.</i> {_quoted(hit.span)}{mark}")
    return f"<li>{'<br>'.join(lines)}</li>"


def _quoted(span: QuotedSpan) -> str:
    location = escape(f"{span.uri} {span.start}-{span.end}")
    return f"<code>{location}</code> {escape(span.text)}"


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
