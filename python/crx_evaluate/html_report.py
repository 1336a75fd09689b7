"""Self-contained HTML report with the recommendation, the table and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from crx_evaluate.failures import FailedQuery, QuotedSpan
from crx_evaluate.first_rows import FirstRow
from crx_evaluate.plots import render_figure
from crx_evaluate.results import MAX_K
from crx_evaluate.statistics import Difference

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
table.first { width: 100%; max-width: 75em; font-size: 15px; margin: 1.2em 0; }
table.first :is(th, td):first-child { white-space: normal; overflow-wrap: anywhere;
                                      min-width: 9em; }
table.first :is(th, td):nth-last-child(-n+2) { text-align: left; }
table.first small { color: #0060a0; display: block; }
table.first svg { width: 14em; height: 1.6em; margin: 0; vertical-align: middle; }
@media (max-width: 60em) { table.first :is(th, td):is(:nth-child(2), :nth-child(4),
                           :nth-child(5)) { display: none; } }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .25em .5em; text-align: right; white-space: nowrap; }
th { border-bottom: 2px solid #222; }
td { border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { position: sticky; left: 0; background: #fff; }
th:first-child, td:first-child, table.languages :is(th, td):nth-child(2),
table.steps :is(th, td):is(:nth-last-child(3), :last-child) { text-align: left; }
table.steps { font-size: 12px; }
table.steps :is(th, td) { padding: .25em .35em; }
table.steps :is(th, td):is(:first-child, :last-child) { white-space: normal; max-width: 15em;
                                                        overflow-wrap: anywhere; }
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
    first: Sequence[FirstRow],
    rows: Sequence[Sequence[str]],
    by_language: Sequence[Sequence[str]],
    recommendation: str,
    failures: Sequence[tuple[str, Sequence[FailedQuery]]],
    figures: Mapping[str, Figure],
) -> str:
    """Return an HTML page.

    `first` are the rows that are shown with their intervals drawn; the table of all is folded. The
    first of `rows` is the header of the table; its last three columns are text. `by_language`
    is a table as well, whose first two columns are text; it may be empty. `failures` are a
    heading and the failed questions of each row.
    """
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f'<p class="recommendation">{escape(recommendation)}</p>',
        *_first_table(first),
        *_folded(f"All {len(rows) - 1} rows", _table(rows, kind="steps")),
        *(_folded("By language", _table(by_language, kind="languages")) if by_language else ()),
        *(f'<p class="note">{escape(note)}</p>' for note in notes),
        *_failures(failures),
        *(_inline(name, figure) for name, figure in figures.items()),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _first_table(rows: Sequence[FirstRow]) -> list[str]:
    """Return the table of the rows that are shown first, with one scale for all intervals."""
    differences = [row.difference for row in rows if row.difference is not None]
    low = min([0.0, *(each.low for each in differences)])
    high = max([0.0, *(each.high for each in differences)])
    head = ("", "@5", "@20", "MRR", "ms", "difference and 95% interval, points", "")
    return [
        '<div class="scroll"><table class="first"><thead>',
        _row(head, "th"),
        "</thead><tbody>",
        *(_first_row(row, low=low, high=high) for row in rows),
        "</tbody></table></div>",
    ]


def _first_row(row: FirstRow, *, low: float, high: float) -> str:
    roles = f"<small>{escape(', '.join(row.roles))}</small>" if row.roles else ""
    shares = (f"{100 * row.recall_at_5:.1f}", f"{100 * row.recall_at_20:.1f}")
    figures = (*shares, f"{row.mrr:.3f}", f"{row.ms:.1f}")
    drawn, written = "", ""
    if (found := row.difference) is not None:
        drawn = _draw_interval(found, low=low, high=high)
        written = f"{100 * found.mean:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
    cells = "".join(f"<td>{each}</td>" for each in (*figures, drawn, written))
    return f"<tr><td>{escape(row.name)}{roles}</td>{cells}</tr>"


def _draw_interval(found: Difference, *, low: float, high: float) -> str:
    """Return an interval and its mean as SVG, on a scale from `low` to `high` with a line at 0."""
    width = (high - low) or 1.0

    def x(value: float) -> str:
        return f"{5 + 190 * (value - low) / width:.1f}"

    colour = "#0072b2" if found.significant else "#777"
    return (
        '<svg viewBox="0 0 200 20" preserveAspectRatio="none" role="img" '
        f'aria-label="{100 * found.low:+.1f} to {100 * found.high:+.1f}">'
        f'<line x1="{x(0)}" x2="{x(0)}" y1="0" y2="20" stroke="#bbb"/>'
        f'<line x1="{x(found.low)}" x2="{x(found.high)}" y1="10" y2="10" stroke="{colour}" '
        'stroke-width="3"/>'
        f'<circle cx="{x(found.mean)}" cy="10" r="4.5" fill="{colour}"/></svg>'
    )


def _folded(heading: str, parts: Sequence[str]) -> list[str]:
    return [f"<details><summary>{escape(heading)}</summary>", *parts, "</details>"]


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
