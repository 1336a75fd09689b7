"""Query lists: a query with its candidates, and the file that has one a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

CANDIDATES = 6


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk, the first line of its outline, and whether it answers."""

    head: str
    text: str
    gold: bool


@dataclass(frozen=True, slots=True)
class QueryList:
    """A query and its candidates; `kind` is that of their documents.

    If one answers, it is the first.
    """

    query: str
    candidates: tuple[Candidate, ...]
    kind: str


def write_lists(path: Path, lists: Sequence[QueryList]) -> None:
    """Write lists as one JSON object a line."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(each)) + "\n" for each in lists)


def read_lists(path: Path) -> list[QueryList]:
    """Return the lists of a file."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        QueryList(row["query"], tuple(Candidate(**each) for each in row["candidates"]), row["kind"])
        for row in rows
    ]
