"""Speed of patterns: regular expressions and literal texts over many chunks, beside ripgrep.

    python benches/patterns.py FOLDER [--chunks 100000] [--ripgrep rg]

Corpus: the first files of FOLDER, by path, that make so many chunks; ripgrep searches the text that
was extracted from them, a file for each document. Patterns: two words of a random chunk as they
stand there, names, and regular expressions with and without a text that a match must have. A search
of crx gives the first 20 chunks and their passages, from an index that is open; its first search,
which reads all texts, is timed alone. ripgrep runs in a process of its own each time, with all its
threads, prints at most 20 matching lines of a file, and reads files that are in memory.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from harness import processor

import crx

SEED = 1
LITERALS = 60
REGEXES = (
    r"fn \w+_text",
    r"TODO|FIXME",
    r"ERR-\d+",
    r"\bclass \w+Error\b",
    r"https?://\S+\.org\b",
    r"^def test_\w+\(",
    r"license(d)? under",
    r"copyright.*20[12]\d",
    r"(open|close)_\w+",
    r"raise \w+Error\(",
    r"zzzz_in_no_text",
    r"import (numpy|pandas) as \w+",
    r"[0-9a-f]{40}",
    r"\d{3}-\d{4}",
    r"\b[A-Z]{5}_[A-Z]{5}\b",
    r"(a+)+b{3,}c",
)


class Pattern(NamedTuple):
    """A pattern, and whether it is a regular expression or a text."""

    source: str
    match: Literal["regex", "literal"]


def main() -> None:
    """Print the times of crx and of ripgrep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--ripgrep", default="rg")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        index = build_index(folder / "bench.crx", arguments.folder, chunks=arguments.chunks)
        size = write_texts(index, folder / "texts")
        patterns = draw_patterns(index)
        counts = index.store.stats()
        chunks, documents = counts["chunks"], counts["documents"]
        print(f"{chunks:,} chunks of {documents:,} documents, {size / 1e6:.0f} MB")
        print(f"{processor()}; {len(patterns)} patterns, milliseconds")
        first = time_once(lambda: index.search(REGEXES[-1], match="regex"))
        print(f"crx, the first search: {first:.0f}")
        times = [time_once(partial(search, index, each)) for each in patterns]
        describe("crx", times, patterns)
        texts = str(folder / "texts")
        run = [time_once(partial(grep, arguments.ripgrep, each, texts)) for each in patterns]
        describe("ripgrep", run, patterns)


def build_index(path: Path, folder: Path, *, chunks: int) -> crx.Index:
    """Return an index of the first files of a folder that make so many chunks."""
    index = crx.open(path, settings={"embedder": "none"})
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    for at in range(0, len(files), 2000):
        index.add(*files[at : at + 2000])
        if index.store.stats()["chunks"] >= chunks:
            break
    return index


def write_texts(index: crx.Index, folder: Path) -> int:
    """Write the text of each document to a file; returns their bytes."""
    folder.mkdir()
    size = 0
    for row in index.store.documents():
        size += (folder / f"{row.doc}.txt").write_bytes(index.store.text(row.doc).encode())
    return size


def draw_patterns(index: crx.Index) -> list[Pattern]:
    """Return two neighbouring words of random chunks, and the regular expressions."""
    rng = random.Random(SEED)
    documents = [row.doc for row in index.store.documents()]
    literals: list[Pattern] = []
    while len(literals) < LITERALS:
        text = index.store.text(rng.choice(documents))
        pairs = re.findall(r"\b\w{4,} \w{4,}\b", text)
        if pairs:
            literals.append(Pattern(rng.choice(pairs), "literal"))
    return [*literals, *(Pattern(source, "regex") for source in REGEXES)]


def search(index: crx.Index, pattern: Pattern) -> object:
    """Return the first matching chunks."""
    return index.search(pattern.source, match=pattern.match)


def grep(ripgrep: str, pattern: Pattern, folder: str) -> object:
    """Run ripgrep over the texts."""
    kind = ["--fixed-strings"] if pattern.match == "literal" else []
    command = [ripgrep, "--smart-case", "--max-count=20", *kind, "-e", pattern.source, folder]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False)


def time_once(call: Callable[[], object]) -> float:
    """Return the milliseconds that a call takes."""
    started = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - started)


def describe(name: str, times: Sequence[float], patterns: Sequence[Pattern]) -> None:
    """Print the median, the 95th percentile and the slowest patterns."""
    percentiles = statistics.quantiles(times, n=20)
    slowest = sorted(zip(times, patterns, strict=True), reverse=True)[:3]
    shown = ", ".join(f"{pattern.source} {ms:.0f}" for ms, pattern in slowest)
    print(f"{name}: p50 {statistics.median(times):.1f}, p95 {percentiles[18]:.1f}; slowest {shown}")


if __name__ == "__main__":
    main()
