"""Indexing a folder again: nothing changed, and one file in a hundred edited, against a full build.

    python benches/update.py [--chunks 100000] [--rounds 5] [--embedder NAME] [--json FILE]

Corpus: that of `indexing.py`, files of 60 paragraphs. An edit replaces one paragraph of a file by
another of the same kind. Each step is a process of its own; times are from after the imports to
the end, and a share is that of the full build of the same round. The index is the one that the
commands of a user make: outlines, and a graph above 100,000 chunks.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import orjson
from harness import commit, processor, time_call, write_results
from indexing import PARAGRAPHS_PER_FILE, write_corpus

import crx

STEPS = ("full build", "nothing changed", "1% of the files edited")
EDITED_SHARE = 0.01


def edit(source: Path, turn: int) -> None:
    """Replace a paragraph in one file of a hundred, others in each turn."""
    files = sorted(source.glob("*.md"))
    for number, path in enumerate(files[turn :: round(1 / EDITED_SHARE)]):
        parts = path.read_text(encoding="utf-8").split("\n\n")
        words = parts[2].split()
        parts[2] = " ".join(words[number % 7 :] + words[: number % 7]) + f" Edit {turn}."
        path.write_text("\n\n".join(parts), encoding="utf-8")


def add(source: Path, target: Path, embedder: str) -> list[float]:
    """Return the seconds, of the clock and of the CPU, of one call of `Index.add`."""
    with crx.open(target, settings={"embedder": embedder}) as index:
        return list(time_call(lambda: index.add(source)))


def measure(source: Path, embedder: str, turn: int) -> dict[str, list[float]]:
    """Return the times of the three steps, on a new index."""
    target = source.parent / "index"
    shutil.rmtree(target, ignore_errors=True)
    taken = {}
    for step in STEPS:
        if step == STEPS[2]:
            edit(source, turn)
        command = [sys.executable, __file__, "--source", str(source), "--target", str(target)]
        done = subprocess.run(
            [*command, "--embedder", embedder], check=True, stdout=subprocess.PIPE
        )
        taken[step] = orjson.loads(done.stdout)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=100_000, help="paragraphs of the corpus")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--embedder", default="hashed")
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--source", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--target", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.source:
        print(orjson.dumps(add(arguments.source, arguments.target, arguments.embedder)).decode())
        return
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "corpus"
        source.mkdir()
        write_corpus(source, max(arguments.chunks, PARAGRAPHS_PER_FILE))
        rounds = [measure(source, arguments.embedder, turn) for turn in range(arguments.rounds)]
    figures = {}
    for step in STEPS:
        wall, cpu = (statistics.median(each[step][at] for each in rounds) for at in (0, 1))
        share = statistics.median(each[step][1] / each[STEPS[0]][1] for each in rounds)
        figures[step] = {"wall_s": wall, "cpu_s": cpu, "share": share}
    print(f"{processor()}, {os.cpu_count()} cores, {arguments.chunks} paragraphs, {commit()}")
    print("| step | s | s of the CPU | share of a full build |\n|---|---:|---:|---:|")
    for step, each in figures.items():
        print(f"| {step} | {each['wall_s']:.2f} | {each['cpu_s']:.2f} | {each['share']:.2%} |")
    if arguments.json:
        write_results(
            arguments.json,
            benchmark=f"indexing again, {arguments.chunks} paragraphs, {arguments.embedder}",
            rounds=arguments.rounds,
            figures=figures,
        )


if __name__ == "__main__":
    main()
