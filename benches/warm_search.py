"""Time of `crx search` through a running server, against `python -c pass` and without a server.

    python benches/warm_search.py INDEX [--query TEXT] [--runs N]

Each run is a new process, from its start to its end, with its output read; the three take turns.
`crx` is started as its installed program starts it. The medians are wall-clock time; the CPU time
of the server is not in the CPU column. Reranking is off: it takes its time in both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import commit, processor
from serve import serving

_CRX = "import sys; from crx.__main__ import main; sys.exit(main())"


def time_process(words: list[str]) -> tuple[float, float]:
    """Return the milliseconds of wall-clock and of CPU time of a process."""
    before = os.times()
    started = time.perf_counter()
    subprocess.run(words, capture_output=True, check=True)
    wall = time.perf_counter() - started
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user
    return 1000 * wall, 1000 * (cpu - before.children_system)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("--query", default="how is a connection closed after a timeout?")
    parser.add_argument("--runs", type=int, default=21)
    options = parser.parse_args()
    search = ["search", options.query, "--index", str(options.index)]
    contestants = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "crx search, a server answers": [sys.executable, "-c", _CRX, *search],
        "crx search --no-server": [sys.executable, "-c", _CRX, *search, "--no-server"],
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    with tempfile.TemporaryDirectory(dir="/tmp") as sockets:
        os.environ.update({"XDG_RUNTIME_DIR": sockets, "CRX_RERANKER": ""})
        with serving(options.index):
            for run in range(1 + options.runs):
                for name, words in contestants.items():
                    taken = time_process(words)
                    if run:  # the first fills the page cache
                        times[name].append(taken)
    print(f"{processor()}, commit {commit()}, load {os.getloadavg()[0]:.1f}\n")
    print("| | median ms | least ms | CPU ms | ratio to pass |\n|---|---:|---:|---:|---:|")
    floor = statistics.median(wall for wall, _ in times["python -c pass"])
    for name, taken in times.items():
        walls = [wall for wall, _ in taken]
        cpu = statistics.mean(cpu for _, cpu in taken)
        median = statistics.median(walls)
        print(f"| `{name}` | {median:.0f} | {min(walls):.0f} | {cpu:.0f} | {median / floor:.1f} |")


if __name__ == "__main__":
    main()
