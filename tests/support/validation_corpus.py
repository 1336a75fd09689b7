"""Contexts that were labelled by reading, and what the validator does with them.

`tests/context/corpus/README.md` says where the contexts come from and what the labels mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from crx.ingest.readers.structure import structure
from crx.ingest.split import sections_at
from crx.types import Chunk, Document
from crx_contexts.validate import ContextValidator

CORPUS = Path(__file__).parents[1] / "context" / "corpus"
SUFFIXES = {"contract": ".txt", "doc": ".md", "py": ".py"}

Label = Literal["good", "fair", "bad"]


@dataclass(frozen=True, slots=True)
class JudgedContext:
    """A labelled context and the reason why the validator rejects it, "" if it is accepted."""

    label: Label
    held_out: bool
    text: str
    reason: str


@cache
def judge_contexts() -> tuple[JudgedContext, ...]:
    """Validate every context of the corpus against its document."""
    contexts = list(_read_lines("contexts.jsonl"))
    return tuple(
        judged
        for document in _read_lines("documents.jsonl")
        for judged in _judge(document, [c for c in contexts if c["doc"] == document["doc"]])
    )


def select_contexts(label: Label, *, held_out: bool) -> list[JudgedContext]:
    """Return the contexts of a label, of the documents that the rules were tuned on or not."""
    return [each for each in judge_contexts() if (each.label, each.held_out) == (label, held_out)]


def share_rejected(judged: list[JudgedContext]) -> float:
    """Return the share of contexts that the validator rejects."""
    return sum(bool(each.reason) for each in judged) / len(judged)


def _judge(source: dict[str, Any], contexts: list[dict[str, Any]]) -> Iterator[JudgedContext]:
    text = source["text"]
    _, marks = structure(text, name=source["doc"] + SUFFIXES[source["kind"]])
    document = Document(source["doc"], text, marks=marks)
    # A validator records what it accepts, so each of the two writers has its own.
    validators = {"claude": ContextValidator(document), "smollm2": ContextValidator(document)}
    for each in contexts:
        start, end = each["start"], each["end"]
        section = int(sections_at(marks, [start])[0])
        context = validators[each["writer"]].validate(
            each["text"],
            chunk=Chunk(0, start, end, 0, 0, section, text[start:end]),
            finished=each["finished"],
        )
        yield JudgedContext(each["label"], source["held_out"], each["text"], context.reason)


def _read_lines(name: str) -> Iterator[dict[str, Any]]:
    with open(CORPUS / name, encoding="utf-8") as lines:
        yield from map(json.loads, lines)
