"""Documents of random words, and fifty queries with the answers of an undamaged index."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import crx
from crx.errors import CrxError
from crx.types import LEGS, Leg

SETTINGS: dict[str, object] = {"embedder": "hashed", "chunk_chars": 120, "reranker": ""}
BIRDS = ("heron", "egret", "bittern", "stork", "crane", "ibis", "spoonbill", "grebe", "coot")
WORDS = (
    "nests", "river", "bend", "marsh", "estuary", "meadow", "colony", "counted", "ringed", "eggs",
    "chicks", "fledged", "season", "winter", "spring", "flood", "drought", "reeds", "willow",
    "station", "survey", "observer", "ladder", "boat", "storm", "ice", "fish", "frog", "dredged",
    "dyke", "sluice", "warden", "permit", "record", "tally", "migration", "return",
)  # fmt: skip
QUERIES = 50


def text(number: int, *, paragraphs: int = 5, version: int = 0) -> str:
    """Return a Markdown document; equal arguments give an equal text."""
    chance = random.Random(f"{number} {version}")
    bird = BIRDS[number % len(BIRDS)]
    lines = []
    for paragraph in range(paragraphs):
        head = f"## Part {paragraph}" if paragraph else f"# The {bird} of site {number}"
        words = " ".join(chance.sample(WORDS, 12))
        lines.append(f"{head}\n\nIn {1900 + number * 7 + paragraph} {words}.\n")
    return "\n".join(lines)


def write_files(folder: Path, count: int, *, paragraphs: int = 5) -> None:
    """Write so many documents as files."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{number}.md").write_text(text(number, paragraphs=paragraphs))


@dataclass(frozen=True, slots=True)
class Query:
    """A query with its legs and its filter."""

    text: str
    legs: Sequence[Leg] = LEGS
    where: dict[str, Any] | None = None


def queries() -> list[Query]:
    """Return the fifty queries: most of both legs, some of one, some with a filter."""
    chance = random.Random(50)
    made = []
    for number in range(QUERIES):
        words = " ".join([chance.choice(BIRDS), *chance.sample(WORDS, 2)])
        match number % 6:
            case 4:
                made.append(Query(words, legs=("bm25",)))
            case 5:
                made.append(Query(words, legs=("dense",)))
            case 3:
                made.append(Query(words, where={"uri": {"glob": "mem:*1*"}}))
            case _:
                made.append(Query(words))
    return made


@dataclass(frozen=True, slots=True)
class Reply:
    """A digest of everything that a search shows except its notes, and the notes or the error."""

    shown: str
    said: str


def ask(index: crx.Index, query: Query) -> Reply:
    """Search; an exception of crx is a reply too, any other is not caught."""
    try:
        result = index.search(query.text, k=5, legs=query.legs, where=query.where)
    except CrxError as error:
        return Reply("", f"{type(error).__name__}: {error}")
    shown = repr(result.passages).encode()
    return Reply(hashlib.sha256(shown).hexdigest()[:16], "; ".join(result.notes))


def ask_all(index: crx.Index) -> list[Reply]:
    """Return the replies to all queries."""
    return [ask(index, query) for query in queries()]
