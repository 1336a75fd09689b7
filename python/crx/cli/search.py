"""`crx search`: print the passages that answer."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import cast

import click

from crx import index as handle
from crx.cli.options import existing_index, index_option, json_option, set_option, settings_of
from crx.cli.output import near, note, say, say_json
from crx.errors import UsageError
from crx.index import Where
from crx.retrieve.search import LEGS, Leg, Result, Window
from crx.types import Citation, Hit, Passage

LINES_SHOWN = 12


@click.command()
@click.argument("query")
@index_option
@click.option("-k", type=int, metavar="N", help="Hits wanted.  [default: 20]")
@click.option(
    "--window",
    default="auto",
    metavar="auto|grow|N",
    help=(
        "Choose what is worth most under a budget for all; grow each hit to its own; or add N "
        "chunks on each side.  [default: auto]"
    ),
)
@click.option(
    "--budget-tokens",
    type=int,
    metavar="N",
    help="Tokens of all passages together, for --window auto.  [default: 4000]",
)
@click.option("--within-section", is_flag=True, help="Grow no passage past its section.")
@click.option(
    "--where",
    "conditions",
    metavar="FIELD=VALUE",
    multiple=True,
    help=("Only documents for which this holds: lang=en, path=docs/**, year>=2020, tag=a,b."),
)
@click.option(
    "--leg", "legs", type=click.Choice(LEGS), multiple=True, help="Search with this leg only."
)
@click.option(
    "--by",
    "order",
    type=click.Choice(("score", "document")),
    default="score",
    help="Best first, or as they stand in their documents.  [default: score]",
)
@click.option(
    "--rerank/--no-rerank",
    default=None,
    help="Have a reranker read the best candidates, or not.  [default: where one is set]",
)
@click.option(
    "--rerank-ms",
    type=float,
    metavar="N",
    help="Rerank only as many as fit into N milliseconds.  [default: all of rerank_depth]",
)
@click.option(
    "--min-relevance",
    type=float,
    metavar="X",
    help="Drop reranked hits that score less than X, 0 to 1.",
)
@click.option("--explain", is_flag=True, help="Show what each stage said of each hit.")
@click.option(
    "--full", is_flag=True, help=f"Print passages whole, not {LINES_SHOWN} lines of each."
)
@set_option
@json_option
def command(
    *,
    query: str,
    folder: str | None,
    k: int | None,
    window: str,
    budget_tokens: int | None,
    within_section: bool,
    conditions: tuple[str, ...],
    legs: tuple[str, ...],
    order: str,
    rerank: bool | None,
    rerank_ms: float | None,
    min_relevance: float | None,
    explain: bool,
    full: bool,
    assignments: tuple[str, ...],
    as_json: bool,
) -> int:
    """Print the passages that answer QUERY, best first."""
    place = existing_index(folder)
    flags = {"rerank_ms": rerank_ms, "min_relevance": min_relevance}
    given = {name: value for name, value in flags.items() if value is not None}
    settings = {**settings_of(assignments), **given}
    with handle.open(place, create=False, settings=settings) as index:
        result = index.search(
            query,
            k=k,
            window=parse_window(window),
            budget_tokens=budget_tokens,
            where=parse_where(conditions),
            legs=cast("tuple[Leg, ...]", legs) or LEGS,
            within_section=within_section,
            order="document" if order == "document" else "score",
            rerank=rerank,
        )
    for line in result.notes:
        note(line)
    if as_json:
        say_json(as_object(query, result))
    else:
        for rank, passage in enumerate(result, start=1):
            print_passage(rank, passage, explain=explain, full=full)
    if not result.passages:
        note("nothing found")
    return 0 if result.passages else 1


def parse_window(text: str) -> Window:
    """Return a window from its flag."""
    if text == "auto":
        return "auto"
    if text == "grow":
        return "grow"
    # A longer number is out of range, and `int` refuses one of thousands of digits.
    if text.isascii() and text.isdigit() and len(text) <= 20:
        return int(text)
    raise UsageError(f"--window {text}: want auto, grow or a number of chunks")


def parse_where(conditions: tuple[str, ...]) -> Where:
    """Return the filter of `FIELD=VALUE`, `FIELD>=VALUE`, ... flags; all must hold.

    A number is a number, `a,b` is any of; a relative path or glob starts in the current folder.
    """
    where: dict[str, dict[str, object]] = {}
    for condition in conditions:
        for sign in ("!=", "<=", ">=", "=", "<", ">"):
            name, found, value = condition.partition(sign)
            if found and name.isidentifier():
                break
        else:
            raise UsageError(f"--where {condition}: want FIELD=VALUE, or !=, <, <=, >, >=")
        of = where.setdefault(name, {})
        if name == "path" and sign == "=":
            of["glob"] = _path_glob(value)
        elif sign == "=" and "," in value:
            of["in"] = [_scalar(each) for each in value.split(",")]
        else:
            of[sign] = _scalar(value)
    return where


def _path_glob(value: str) -> str:
    absolute = os.path.join(Path.cwd(), value)
    return absolute.rstrip("/") + "/**" if os.path.isdir(absolute) else absolute


def _scalar(text: str) -> str | int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def as_object(query: str, result: Result) -> dict[str, object]:
    """Return a result as plain objects."""
    return {
        "query": query,
        "passages": [asdict(passage) for passage in result],
        "notes": list(result.notes),
        "timings_ms": dict(result.timings_ms or {}),
    }


def place_of(passage: Passage | Citation) -> str:
    """Return where a passage stands, as a person says it: path:lines, or path, page."""
    path = near(passage.uri)
    if passage.pages:
        first, last = passage.pages
        return f"{path}, page {first}" if first == last else f"{path}, pages {first}-{last}"
    return f"{path}:{passage.lines[0]}-{passage.lines[1]}" if passage.lines else path


def print_passage(
    rank: int, passage: Passage, *, explain: bool = False, full: bool = False
) -> None:
    """Print one passage: where it stands, the headings around it, its first lines."""
    trail = " > ".join(passage.headings) or passage.title
    head = f"{rank}. {click.style(place_of(passage), bold=True)}"
    say(f"{head}  {click.style(trail, dim=True)}".rstrip())
    lines = [line.rstrip() for line in passage.text.strip("\n").splitlines()]
    shown = lines if full else _around(lines, passage)
    for line in shown:
        say(f"   {line}".rstrip())
    if len(shown) < len(lines):
        say(click.style(f"   [{len(shown)} of {len(lines)} lines; --full shows all]", dim=True))
    if explain:
        for hit in passage.hits:
            say(click.style(f"   {explanation(hit)}", dim=True))
    say()


def _around(lines: list[str], passage: Passage) -> list[str]:
    """Return the lines from where the best hit starts."""
    skipped = passage.text.strip("\n")[: max(0, passage.hits[0].start - passage.start)].count("\n")
    first = max(0, min(skipped, len(lines) - LINES_SHOWN))
    return lines[first : first + LINES_SHOWN]


def explanation(hit: Hit) -> str:
    """Return what each stage said of a hit, and what situates it, in one line."""
    stages = ", ".join(
        f"{name} {stage.rank} ({stage.score:.3f})" for name, stage in hit.stages.items()
    )
    situated = " / ".join(" ".join(t.split()) for t in (hit.outline, hit.context) if t)
    return f"chunk {hit.ordinal}: score {hit.score:.4f}; {stages}; context: {situated or 'none'}"
