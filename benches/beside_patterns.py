"""A person's searches at `crx serve`, alone and beside clients of the worst patterns, in turns.

The person searches for words one search after another, and a supervisor asks for /health ten times
a second; both have connections of their own. The clients, eight if nothing else is said, each send
the patterns that take longest, one after another. Printed are the times of the person and of
/health in milliseconds, the load of the machine, and the statuses of all answers.

Run: python benches/beside_patterns.py INDEX [--clients 8] [--seconds 15] [--rounds 4]
"""

from __future__ import annotations

import argparse
import collections
import http.client
import json
import os
import random
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from harness import commit, processor
from serve_memory import fetch, read_words, serving

import crx

PATTERNS = (
    r"(?s).{1,900}q.{1,900}zz",
    r"(?s).{1,400}q.{1,400}zz",
    r"(?s).{1,300}(q|x).{1,300}zzz",
    r"(?i)\w{1,200}\s\w{1,200}zz",
    r"\p{L}{1,250}\d{9}",
    r"[^z]{1,500}zzz",
    r"(a+)+b{3,}c",
    r".*.*.*x7z",
    r"\b\w+\b.{0,300}\bqqq",
    "|".join(f"{number}[a-z]+q{number}" for number in range(300)),
)
HEALTH_S = 0.1


class Load:
    """Times of requests by who sends them, and the statuses of the answers."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._lock = threading.Lock()
        self.seconds: dict[str, list[float]] = collections.defaultdict(list)
        self.statuses: collections.Counter[tuple[str, int]] = collections.Counter()

    def send(
        self, who: str, draw: Callable[[], tuple[str, str]], *, until: float, pause: float = 0
    ) -> None:
        """Send requests one after another until a time of `time.monotonic`."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        while time.monotonic() < until:
            path, body = draw()
            started = time.monotonic()
            status, _ = fetch(connection, path, body)
            with self._lock:
                self.seconds[who].append(time.monotonic() - started)
                self.statuses[who.partition(" ")[0], status] += 1
            time.sleep(pause)
        connection.close()


def run_turn(
    load: Load, words: Sequence[str], *, seconds: float, clients: int, chance: random.Random
) -> None:
    """Send the requests of a person, a supervisor and some clients for a while."""
    until = time.monotonic() + seconds
    name = "busy" if clients else "idle"

    def search() -> tuple[str, str]:
        return "/v1/search", json.dumps({"query": " ".join(chance.sample(words, 3))})

    def match() -> tuple[str, str]:
        return "/v1/search", json.dumps({"query": f"re:{chance.choice(PATTERNS)}"})

    threads = [
        threading.Thread(
            target=load.send, args=(f"person {name}", search), kwargs={"until": until}
        ),
        threading.Thread(
            target=load.send,
            args=(f"health {name}", lambda: ("/health", "")),
            kwargs={"until": until, "pause": HEALTH_S},
        ),
    ]
    threads += [
        threading.Thread(target=load.send, args=("patterns", match), kwargs={"until": until})
        for _ in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def percentile(times: Sequence[float], share: float) -> float:
    """Return the time, in milliseconds, below which a share of the times is."""
    return 1000 * sorted(times)[min(len(times) - 1, int(share * len(times)))]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    with crx.open(options.index, create=False) as index:
        words = read_words(index)
    chance = random.Random(1)
    with serving(options.index, []) as (_, port):
        load = Load(port)
        for _ in range(options.rounds):
            for clients in (0, options.clients):
                run_turn(load, words, seconds=options.seconds, clients=clients, chance=chance)
    print(f"{processor()}, commit {commit()}, load {os.getloadavg()[0]:.1f}\n")
    print("| who | requests | median | p95 | p99 |\n|---|---:|---:|---:|---:|")
    for who, times in sorted(load.seconds.items()):
        figures = (
            1000 * statistics.median(times),
            percentile(times, 0.95),
            percentile(times, 0.99),
        )
        print(f"| {who} | {len(times):,} | " + " | ".join(f"{ms:.0f}" for ms in figures) + " |")
    ratio = percentile(load.seconds["person busy"], 0.95) / percentile(
        load.seconds["person idle"], 0.95
    )
    print(f"\np95 {ratio:.2f} of idle; statuses {dict(load.statuses)}")


if __name__ == "__main__":
    main()
