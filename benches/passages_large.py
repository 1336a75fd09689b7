"""A query that is answered from one long document, against the same text in many short ones.

One index holds a document of 50 MB, the other the same text in documents of 50 kB. The text is
synthetic: sections of about 1 kB under a heading, in chapters of 50 kB, with a page mark every
3 kB; a section is a chunk in both indexes. The query consists of ten words that occur once each, so
both indexes return the same ten passages, which is checked. Embeddings are `hashed`, contexts are
off. `first` is the first query of a process, `search` the median of the others, `widen` the median
of the step from hits to passages. All are medians of several processes, taken in turns.

Run: python benches/passages_large.py [--megabytes 50] [--repeats 100] [--rounds 5] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from harness import commit, processor

import crx
from crx.types import Document, Mark

CHAPTER, SECTION, PAGE = 50_000, 1_000, 3_000
NEEDLES = tuple(f"needle{number}x" for number in range(10))
SETTINGS = {"embedder": "hashed", "contexts": "none", "k": len(NEEDLES)}
BUDGET_TOKENS = 4_000
STEPS = ("first", "search", "widen")


def section(number: int, words: list[str], rng: random.Random, needle: str) -> str:
    lines = [f"## Section {number}", ""]
    length = len(lines[0]) + 2
    while length < SECTION:
        line = " ".join([*rng.choices(words, k=11), needle])
        needle = ""
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines) + "\n\n"


def chapters(characters: int) -> Iterator[Document]:
    """Yield documents of 50 kB, together with the spans of their sections as chunks."""
    rng = random.Random(7)
    words = ["".join(rng.choices("abcdefghij", k=rng.randint(3, 9))) for _ in range(4_000)]
    count = characters // CHAPTER
    with_needle = {count * (2 * number + 1) // 20: needle for number, needle in enumerate(NEEDLES)}
    for number in range(count):
        sections: list[str] = []
        for at in range(CHAPTER // SECTION):
            needle = with_needle.get(number, "") if at == 25 else ""
            sections.append(section(at, words, rng, needle))
        starts = [0]
        for each in sections:
            starts.append(starts[-1] + len(each))
        end = starts[-1]
        spans = tuple(pairwise(starts))
        yield Document(
            uri=f"chapter-{number:04}",
            text="".join(sections),
            chunks=spans,
            marks=(
                Mark("heading", 0, end, f"Chapter {number}", 1),
                *(Mark("heading", *span, f"Section {at}", 2) for at, span in enumerate(spans)),
                *(Mark("page", at, min(at + PAGE, end), f"{at}") for at in range(0, end, PAGE)),
            ),
        )


def joined(documents: list[Document]) -> Document:
    """Return the documents as one."""
    marks: list[Mark] = []
    chunks: list[tuple[int, int]] = []
    shift = 0
    for each in documents:
        chunks += [(start + shift, end + shift) for start, end in each.chunks or ()]
        marks += [replace(m, start=m.start + shift, end=m.end + shift) for m in each.marks]
        shift += len(each.text)
    text = "".join(each.text for each in documents)
    return Document(uri="book", text=text, chunks=tuple(chunks), marks=tuple(marks))


def build(folder: Path, characters: int) -> None:
    documents = list(chapters(characters))
    for name, given in (("long", [joined(documents)]), ("short", documents)):
        with crx.open(folder / name, settings=SETTINGS) as index:
            index.add_documents(given)


@dataclass(frozen=True)
class Measured:
    milliseconds: dict[str, float]
    texts: list[str]


def median_ms(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def measure(path: Path, repeats: int) -> Measured:
    """Measure one index; called in a process of its own."""
    query = " ".join(NEEDLES)
    settings = {"k": len(NEEDLES)}
    with (
        crx.open(path, create=False, settings=settings) as index,
        index.searcher() as searcher,
    ):

        def search() -> crx.Result:
            return index.search(query, budget_tokens=BUDGET_TOKENS)

        index.embedder.embed([query], query=True)
        first = median_ms(search, 1)
        found = search()

        def widen() -> object:
            return widen(
                found.hits,
                documents=searcher.documents,
                window="auto",
                budget_tokens=BUDGET_TOKENS,
                window_tokens=0,
            )

        times = {"first": first, "search": median_ms(search, repeats)}
        times["widen"] = median_ms(widen, repeats)
        return Measured(times, [passage.text for passage in found])


def run_process(path: Path, repeats: int) -> Measured:
    command = [sys.executable, __file__, "--measure", str(path), "--repeats", str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Measured(*json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measured = measure(given.measure, given.repeats)
        print(json.dumps([measured.milliseconds, measured.texts]))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        build(folder, given.megabytes * 1_000_000)
        rounds = [
            {name: run_process(folder / name, given.repeats) for name in ("short", "long")}
            for _ in range(given.rounds)
        ]
    texts = {name: sorted(measured.texts) for name, measured in rounds[0].items()}
    assert texts["short"] == texts["long"], "the passages differ"
    assert len(texts["short"]) == len(NEEDLES), len(texts["short"])
    print(f"{given.megabytes} MB, {processor()}, commit {commit()}\n")
    print("| step | 50 kB documents, ms | one document, ms | ratio |")
    print("|---|---:|---:|---:|")
    for step in STEPS:
        short, long = (
            statistics.median(each[name].milliseconds[step] for each in rounds)
            for name in ("short", "long")
        )
        print(f"| {step} | {short:.1f} | {long:.1f} | {long / short:.2f} |")


if __name__ == "__main__":
    main()
