"""What is measured: one cold `crx search`, from the start of the process to the printed answer.

    python benches/cold_search.py INDEX [--query TEXT] [--runs N]

Each run is a new process; files are in the page cache after the first, which is not counted. The
child notes the time after each step; the start of the process is the parent's clock. Medians.
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
place, query = sys.argv[1:]
import crx.cli.search as verb
mark()
index = verb.handle.open(place, create=False)
searcher = index.searcher()
mark()
embedder = index.embedder
mark()
vector = embedder.embed([query], query=True)
mark()
class Ready:
    def embed(self, texts, *, query=False):
        return vector
hits, _ = searcher.search(query, weights=index.weights(), k=20, embedder=Ready())
passages = searcher.widen(hits, window="auto", budget_tokens=512)
mark()
for rank, passage in enumerate(passages, start=1):
    verb.print_passage(rank, passage)
sys.stdout.flush()
mark()
print(json.dumps(marks), file=sys.stderr)
"""


def cold(index: str, query: str) -> list[float]:
    """Return the milliseconds of each step of one run."""
    started = time.time()
    command = [sys.executable, "-c", _CHILD, index, query]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    marks = [started, *json.loads(done.stderr.splitlines()[-1])]
    return [1000 * (b - a) for a, b in pairwise(marks)]


def whole(index: str, query: str) -> float:
    """Return the milliseconds of the command itself, the end of the process included."""
    started = time.time()
    command = [sys.executable, "-m", "crx.cli", "search", query, "--index", index]
    subprocess.run(command, capture_output=True, check=True)
    return 1000 * (time.time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index")
    parser.add_argument("--query", default="how is a connection closed after a timeout?")
    parser.add_argument("--runs", type=int, default=7)
    asked = parser.parse_args()
    cold(asked.index, asked.query)
    runs = [cold(asked.index, asked.query) for _ in range(asked.runs)]
    totals = [whole(asked.index, asked.query) for _ in range(asked.runs)]
    print("| step | ms |\n|---|---:|")
    for step, values in zip(STEPS, zip(*runs, strict=True), strict=True):
        print(f"| {step} | {statistics.median(values):.0f} |")
    print(f"| the command, start to end | {statistics.median(totals):.0f} |")


if __name__ == "__main__":
    main()
