"""Time of one `crx search` in a new process, from its start to the printed answer, by step.

    python benches/cold_search.py INDEX [INDEX ...] [--query TEXT] [--runs N] [--json FILE]

Each run is a new process. The first run, which fills the page cache, is not counted. The child
records the wall-clock time and the CPU time of all its threads after each step. The table shows
medians, one column for each index; the indexes take turns, and so do two processes to compare with:
one that does nothing, and one that imports numpy. The time beyond the model's is that of all steps
but the loading of the embedder and of the reranker and the work of both.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from harness import write_results

STEPS = ("process start", "imports", "opening", "model", "embed", "search", "print")
MODEL_STEPS = ("model", "embed")
BASELINES = {"nothing": "pass", "import numpy": "import numpy"}

_MARKS = """
import time
marks = []
def mark():
    marks.append((time.time(), time.process_time()))
mark()
"""
_PRINT_MARKS = """
import json, sys
print(json.dumps(marks), file=sys.stderr)
"""
_SEARCH = """
import sys
folder, query = sys.argv[1:]
import crx.__main__
crx.__main__.set_up_process()
import crx._cli.search
from crx._index.reader import open_reader
from crx._show.copies import fold_copies
from crx._cli.passages import choose_shown, layout_passages
from crx._cli.screen import own_screen
mark()
index = open_reader(folder)
with index.searcher():
    pass
mark()
embedder = index.embedder
mark()
vector = embedder.embed([query], query=True)
mark()
embedder.embed = lambda texts, *, query=False: vector
result = index.search(query, rerank=False)
mark()
screen = own_screen()
shown = choose_shown(fold_copies(result.passages)[:5], screen)
for line in layout_passages(shown, query=query, screen=screen)[0]:
    print(line)
sys.stdout.flush()
mark()
"""

# Wall-clock and CPU milliseconds.
Milliseconds = tuple[float, float]


def run_child(body: str, *arguments: str) -> list[Milliseconds]:
    """Return the milliseconds of each step of a process, its start being the first."""
    command = [sys.executable, "-c", _MARKS + body + _PRINT_MARKS, *arguments]
    started = time.time(), 0.0
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    marks = [started, *json.loads(done.stderr.splitlines()[-1])]
    return [(1000 * (b[0] - a[0]), 1000 * (b[1] - a[1])) for a, b in pairwise(marks)]


def time_baseline(statement: str) -> list[Milliseconds]:
    """Return the milliseconds of a process that runs a statement, as its only step."""
    steps = run_child(f"{statement}\nmark()\n")
    return [(sum(wall for wall, _ in steps), sum(cpu for _, cpu in steps))]


def beyond_model(steps: list[Milliseconds]) -> Milliseconds:
    """Return the milliseconds of all steps but those of the model."""
    others = [each for name, each in zip(STEPS, steps, strict=True) if name not in MODEL_STEPS]
    return sum(wall for wall, _ in others), sum(cpu for _, cpu in others)


def print_table(runs: dict[str, list[list[Milliseconds]]]) -> None:
    indexes = [name for name in runs if name not in BASELINES]
    print(
        f"| wall-clock ms, ms of the CPU | {' | '.join(indexes)} |\n|---|{'---:|' * len(indexes)}"
    )
    for at, step in enumerate(STEPS):
        cells = [median([run[at] for run in runs[index]]) for index in indexes]
        print(f"| {step} | {' | '.join(f'{wall:.0f}, {cpu:.0f}' for wall, cpu in cells)} |")
    print()


def median(times: list[Milliseconds]) -> Milliseconds:
    return statistics.median(w for w, _ in times), statistics.median(c for _, c in times)


def summarize(runs: dict[str, list[list[Milliseconds]]]) -> dict[str, dict[str, float]]:
    """Return the medians of the baselines and, for each index, of its time beyond the model's."""
    found = {}
    for name, each in runs.items():
        if name in BASELINES:
            wall, cpu = median([steps[0] for steps in each])
        else:
            wall, cpu = median([beyond_model(steps) for steps in each])
        found[name] = {"wall_ms": wall, "cpu_ms": cpu}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("indexes", nargs="+", metavar="INDEX")
    parser.add_argument("--query", default="how is a connection closed after a timeout?")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", help="a file for the figures of one index")
    arguments = parser.parse_args()
    runs: dict[str, list[list[Milliseconds]]] = {}
    for _ in range(1 + arguments.runs):
        for name, statement in BASELINES.items():
            runs.setdefault(name, []).append(time_baseline(statement))
        for index in arguments.indexes:
            runs.setdefault(Path(index).name, []).append(run_child(_SEARCH, index, arguments.query))
    runs = {name: each[1:] for name, each in runs.items()}
    print_table(runs)
    figures = summarize(runs)
    for name, each in figures.items():
        print(f"{name}: {each['wall_ms']:.0f} ms, {each['cpu_ms']:.0f} of the CPU")
    if arguments.json:
        named = {("crx" if name not in BASELINES else name): each for name, each in figures.items()}
        write_results(
            arguments.json,
            benchmark="cold search, beyond the model",
            rounds=arguments.runs,
            figures=named,
        )


if __name__ == "__main__":
    main()
