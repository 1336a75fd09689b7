"""Answers in what `crx search` prints, of those that the first three chunks hold.

What is printed in a pipe, 30 lines of 80 columns, shows an answer if it holds at least half of it
in one piece, white space aside; so does a chunk. Characters are those of all lines, with positions
of the passages.

Run: python benches/printed.py FOLDER INDEX
     python benches/printed.py --after INDEX
     python benches/printed.py --everyday QUESTIONS PACKAGES DIR

FOLDER is a question set, INDEX an index of it: `crx eval run FOLDER --index INDEX` makes one. Gold
spans are its answers. With `--everyday`, questions and indexes are those of `everyday.py`.

With `--after` the questions are made from the documents of the index. A question is the rarest
words of a line, and its answer a line one to six lines further on that has none of them, as an
explanation follows the message that it explains. Lines are those of text wrapped at 77 columns.
"""

from __future__ import annotations

import argparse
import os
import platform
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from everyday import holds, printed, read_questions
from harness import commit

import crx
from crx import _native
from crx._show.excerpt import wrap
from crx.ingest.common_words import FUNCTION_WORDS
from crx_evaluate.datasets import Gold, read_set

SCREEN = {"COLUMNS": "80", "LINES": "30"}
DEPTH = 20
FIRST = 3
QUESTIONS = 200
LINE = 77
WORDS = 5
FURTHEST = 6
SHORTEST = 40
COMMON = frozenset().union(*FUNCTION_WORDS.values())


class Asked(NamedTuple):
    """A question and its answers, of which one is enough."""

    text: str
    answers: Sequence[str]


class Counts(NamedTuple):
    """How many questions there are, how many are answered, and the characters printed."""

    questions: int
    in_chunks: int
    shown: int
    characters: int

    def plus(self, other: Counts) -> Counts:
        return Counts(*(mine + its for mine, its in zip(self, other, strict=True)))


def measure(index: crx.Index, questions: Iterable[Asked]) -> Counts:
    total = Counts(0, 0, 0, 0)
    for asked in questions:
        result = index.search(asked.text, k=DEPTH)
        out = printed(result.passages, asked.text)
        in_chunks = any(
            holds(hit.text, answer) for hit in result.hits[:FIRST] for answer in asked.answers
        )
        shown = in_chunks and any(holds(out, answer) for answer in asked.answers)
        total = total.plus(Counts(1, in_chunks, shown, len(out)))
    return total


def of_set(folder: Path) -> Iterator[Asked]:
    """Yield the questions of a set, with the text of all gold spans."""
    questions = read_set(folder)
    texts = {document.uri: document.text for document in questions.documents}
    for query in questions.queries:
        yield Asked(query.text, list(gold_texts(query.gold, texts)))


def gold_texts(gold: Sequence[Gold], texts: dict[str, str]) -> Iterator[str]:
    for item in gold:
        for span in item.any:
            yield texts[span.doc_id][span.start : span.end]


def after(index: crx.Index) -> list[Asked]:
    """Return questions whose answers follow their words, from documents all over the index."""
    rows = sorted(index.store.documents(), key=lambda row: zlib.crc32(row.uri.encode()))
    made = (follow(index.store.text(row.doc)) for row in rows)
    return list(islice((asked for asked in made if asked), QUESTIONS))


def follow(text: str) -> Asked | None:
    """Return the question of a document, None if it has no two lines that make one."""
    lines = [row for line in text.split("\n") for row in wrap(line.strip(), LINE) if row]
    counts = Counter(word for line in lines for word in words_of(line))
    start = zlib.crc32(text.encode()) % max(1, len(lines))
    for at in (*range(start, len(lines)), *range(start)):
        words = sorted(words_of(lines[at]), key=lambda word: counts[word])[:WORDS]
        distance = 1 + at % FURTHEST
        if len(words) < WORDS or at + distance >= len(lines):
            continue
        answer = lines[at + distance]
        asked = set(_native.analyze(" ".join(words)))
        if len(answer) >= SHORTEST and asked.isdisjoint(_native.analyze(answer)):
            return Asked(" ".join(words), [answer])
    return None


def words_of(line: str) -> list[str]:
    words = (word for word in dict.fromkeys(line.split()) if word.isalpha() and len(word) > 3)
    return [word for word in words if word.casefold() not in COMMON]


def report(name: str, counts: Counts) -> None:
    share = 100 * counts.shown / max(1, counts.in_chunks)
    print(
        f"{name}, {counts.questions} questions, {platform.machine()}, commit {commit()}: ", end=""
    )
    print(f"the first {FIRST} chunks answer {counts.in_chunks}, of which {counts.shown} ", end="")
    print(f"({share:.1f}%) are printed, in {counts.characters / counts.questions:.0f} characters")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH")
    parser.add_argument("--after", action="store_true")
    parser.add_argument("--everyday", action="store_true")
    given = parser.parse_args()
    paths = [path.resolve() for path in given.paths]
    os.environ.update(SCREEN)
    if given.everyday:
        questions, packages, folder = paths
        os.chdir(packages)  # paths are printed relative to it
        total = Counts(0, 0, 0, 0)
        for lang, of_lang in read_questions(questions, packages).items():
            with crx.open(folder / lang, create=False) as index:
                asked = [Asked(each.text, [each.quote]) for each in of_lang]
                total = total.plus(measure(index, asked))
        report("everyday", total)
        return
    with crx.open(paths[-1], create=False) as index:
        asked = after(index) if given.after else list(of_set(paths[0]))
        report(paths[-1].name if given.after else paths[0].name, measure(index, asked))


if __name__ == "__main__":
    main()
