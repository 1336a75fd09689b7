"""The list of files that `crx search --by file` prints: each with its best lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import click

from crx import _native
from crx._cli.excerpt import shorten
from crx._cli.output import bold, dim, display_path, format_line, print_hint, to_json
from crx._cli.passages import describe_stages
from crx._cli.screen import Screen
from crx._cli.visible import visible_line
from crx._show.by_file import MatchingFile, group_by_file
from crx._show.excerpt import split_matches
from crx.types import Result

# Files that are printed unless another number is asked for.
SHOWN_FILES = 10
_INDENT = "   "


def print_files(
    screen: Screen, query: str, result: Result, *, count: int | None, shown: str, explain: bool
) -> None:
    """Print the files of a result, best first; words of `shown` are bold."""
    files = _best_files(query, result)
    stages: dict[str, str] = {}
    for hit in result.hits if explain else ():
        stages.setdefault(hit.uri, describe_stages(hit))
    for line in _layout(files[:count], query=shown, screen=screen, stages=stages):
        click.echo(line)
    if count is not None and len(files) > count:
        print_hint(f"{count} of {len(files)}", "--more")


def as_file_object(query: str, result: Result, *, count: int | None) -> dict[str, object]:
    """Return the files of a result as plain objects."""
    return {
        "query": query,
        "files": [asdict(each) for each in _best_files(query, result)[:count]],
        "notes": list(result.notes),
        "timings_ms": dict(result.timings_ms or {}),
    }


def file_rows(query: str, result: Result, *, count: int | None) -> list[str]:
    """Return a line of JSON for each file of a result."""
    files = _best_files(query, result)
    return [to_json(asdict(each)) for each in files[:count]]


def _best_files(query: str, result: Result) -> list[MatchingFile]:
    """Return the files of a result, best first."""
    passages = sorted(result.passages, key=lambda each: -each.score)
    return group_by_file(passages, query=query)


def _layout(
    files: Sequence[MatchingFile], *, query: str, screen: Screen, stages: Mapping[str, str]
) -> list[str]:
    """Return the lines of files, with the stages of the best hit by the URI of its file."""
    terms = set(_native.analyze(query))
    written = []
    for rank, file in enumerate(files, start=1):
        heading = f"{rank}. {display_path(file.uri, folder=screen.folder)}"
        hits = f"{file.hits} hits" if file.hits > 1 else "1 hit"
        written.append(format_line((bold(heading), "  ", dim(hits)), is_styled=screen.is_styled))
        for line in file.lines:
            number = f"{line.number}: " if line.number else ""
            width = screen.columns - len(_INDENT) - len(number)
            text = shorten(visible_line(line.text), width)
            pieces = [
                bold(piece) if matches else piece for piece, matches in split_matches(text, terms)
            ]
            parts = (_INDENT, dim(number), *(pieces if screen.is_styled else [text]))
            written.append(format_line(parts, is_styled=screen.is_styled))
        if told := stages.get(file.uri):
            parts = (dim(_INDENT + visible_line(told)),)
            written.append(format_line(parts, is_styled=screen.is_styled))
    return written
