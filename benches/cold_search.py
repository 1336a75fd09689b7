"""Time of one `crx search` in a new process, from its start to the printed answer, by step.

    python benches/cold_search.py INDEX [INDEX ...] [--query TEXT] [--runs N]

Each run is a new process. The first run, which fills the page cache, is not counted. The child
records the time after each step; the start of the process is taken from the parent's clock. The
table shows medians, one column for each index; the indexes take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from itertools import pairwise

STEPS = ("process start", "imports", "opening", "model", "embed", "search", "print")

_CHILD = """
import time
marks = [time.time()]
def mark():
    marks.append(time.time())
import json, sys
folder, query = sys.argv[1:]
import crx.cli.search as command
mark()
import crx.index
index = crx.index.open(folder, create=False)
searcher = index.searcher()
mark()
embedder = index.embedder
mark()
vector = embedder.embed([query], query=True)
mark()
embedder.embed = lambda texts, *, query=False: vector
result = index.search(query)
mark()
command.print_passages(result.passages, query=query, full=False, explain=False)
sys.stdout.flush()
mark()
print(json.dumps(marks), file=sys.stderr)
"""


def time_steps(index: str, query: str) -> list[float]:
    """Return the milliseconds of each step of one run."""
    started = time.time()
    command = [sys.executable, "-c", _CHILD, index, query]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    marks = [started, *json.loads(done.stderr.splitlines()[-1])]
    return [1000 * (b - a) for a, b in pairwise(marks)]


def time_command(index: str, query: str) -> float:
    """Return the milliseconds of the command, including the end of the process."""
    started = time.time()
    command = [sys.executable, "-m", "crx.cli", "search", query, "--index", index]
    subprocess.run(command, capture_output=True, check=True)
    return 1000 * (time.time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("indexes", nargs="+", metavar="INDEX")
    parser.add_argument("--query", default="how is a connection closed after a timeout?")
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    rows: dict[str, list[list[float]]] = {index: [] for index in arguments.indexes}
    for _ in range(1 + arguments.runs):
        for index, runs in rows.items():
            steps = time_steps(index, arguments.query)
            runs.append([*steps, time_command(index, arguments.query)])
    print(f"| ms | {' | '.join(rows)} |\n|---|{'---:|' * len(rows)}")
    for at, step in enumerate((*STEPS, "the command, start to end")):
        medians = [statistics.median(run[at] for run in runs[1:]) for runs in rows.values()]
        print(f"| {step} | {' | '.join(f'{median:.0f}' for median in medians)} |")


if __name__ == "__main__":
    main()
