"""Answers in what `crx search` prints, where a passage that it prints of holds them.

A passage holds an answer if it covers at least half of a gold span; what is printed, on a terminal
of 100 columns and 40 rows, shows it if it holds at least half of the covered text in one piece,
white space aside. The first passage of the five that holds an answer counts.

Run: python benches/printed.py FOLDER INDEX

FOLDER is a question set, INDEX an index of it: `crx eval run FOLDER --index INDEX` makes one.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from everyday import SCREEN, holds, printed
from harness import commit

import crx
from crx.cli.copies import fold_copies
from crx.cli.passages import SHOWN
from crx.evaluate.datasets import Gold, GoldSpan, read_set

DEPTH = 20


def answer(passages: Iterable[crx.Passage], gold: Sequence[Gold]) -> str:
    """Return what the first passage that covers half of a gold span has of it; "" if none does."""
    spans = [span for item in gold for span in item.any]
    for passage in passages:
        for span in spans:
            text = covered(passage, span)
            if 2 * len(text) >= span.end - span.start:
                return text
    return ""


def covered(passage: crx.Passage, span: GoldSpan) -> str:
    """Return the text that a passage and a gold span share."""
    if passage.uri != span.doc_id:
        return ""
    return passage.text[max(0, span.start - passage.start) : max(0, span.end - passage.start)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("index", type=Path)
    given = parser.parse_args()
    os.environ.update(SCREEN)
    questions = read_set(given.folder)
    held = shown = 0
    with crx.open(given.index, create=False) as index:
        for query in questions.queries:
            passages = index.search(query.text, k=DEPTH).passages
            best = [each.passage for each in fold_copies(passages)[:SHOWN]]
            if text := answer(best, query.gold):
                held += 1
                shown += holds(printed(passages, query.text), text)
    share = 100 * shown / max(1, held)
    print(f"{questions.name}, {len(questions.queries)} questions, {platform.machine()}, ", end="")
    print(
        f"commit {commit()}: {held} have their answer in a passage, {shown} ({share:.1f}%) ", end=""
    )
    print("on the screen")


if __name__ == "__main__":
    main()
