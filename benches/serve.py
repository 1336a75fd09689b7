"""`crx serve`: what HTTP adds to a search in this process, and eight clients for a minute.

The index is made of sentences of random words, by the embedder `hashed`, and not reranked, so
that no model's time is measured; --index takes another one. Queries are two to five of the words.
First, each query is searched in this process and then over HTTP, by one client. Then the clients
search for some seconds, each on one connection. CPU times are those of the process that searches,
without the client's, so that they do not depend on what else runs. Memory is that of the server's
process, after the first second and at the end.

Run: python benches/serve.py [--chunks 100000] [--index DIR] [--clients 8] [--seconds 60]
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness import commit, processor

import crx

WORDS = 20_000
WORDS_PER_CHUNK = 60
CHUNKS_PER_DOCUMENT = 50
QUERIES = 400
SETTINGS = {"embedder": "hashed", "chunk_chars": 500, "reranker": ""}


def vocabulary(rng: random.Random) -> list[str]:
    """Return words of two to five syllables."""
    syllables = ["".join(pair) for pair in itertools.product("bdfgklmnprstvz", "aeiou")]
    return ["".join(rng.choices(syllables, k=rng.randint(2, 5))) for _ in range(WORDS)]


def documents(chunks: int, rng: random.Random, words: Sequence[str]) -> Iterator[crx.Document]:
    """Yield documents of sentences, whose words are rarer the later they stand in the list."""
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    for number in range(chunks // CHUNKS_PER_DOCUMENT):
        sentences = [
            " ".join(rng.choices(words, weights, k=WORDS_PER_CHUNK)).capitalize() + "."
            for _ in range(CHUNKS_PER_DOCUMENT)
        ]
        yield crx.Document(f"mem:{number}", "\n\n".join(sentences), f"Document {number}")


@dataclass
class Tally:
    """What the clients measured."""

    milliseconds: list[float] = field(default_factory=list)
    errors: int = 0


class HttpSearch:
    """One connection to a server."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def __call__(self, query: str) -> int:
        """Return the status of a search, whose answer is read whole."""
        body = json.dumps({"query": query})
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", "/v1/search", body=body, headers=headers)
        answer = self._connection.getresponse()
        answer.read()
        return answer.status


@contextmanager
def serving(index: Path) -> Iterator[tuple[int, int]]:
    """Run a server; yield its process id and port once its models are loaded."""
    words = [sys.executable, "-m", "crx", "serve", str(index), "--port", "0", "--quiet"]
    words += ["--set", "reranker="]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r":(\d+)$", server.stderr.readline().strip())
        assert found
        port = int(found[1])
        while b"ready" not in get(port, "/health"):
            time.sleep(0.1)
        try:
            yield server.pid, port
        finally:
            server.terminate()


def get(port: int, path: str) -> bytes:
    """Return the body of a page."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", path)
    return connection.getresponse().read()


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    (kilobytes,) = re.findall(r"VmRSS:\s+(\d+)", status)
    return int(kilobytes) / 1000


def cpu_ms(pid: int) -> float:
    """Return the CPU time of a process in user and system mode."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Times:
    """Milliseconds of one search: the median, and the CPU's mean."""

    median: float
    cpu: float


def time_searches(search: Callable[[str], object], queries: Sequence[str], *, pid: int) -> Times:
    """Return the times of searches that the process `pid` does."""
    times = []
    before = cpu_ms(pid)
    for query in queries:
        started = time.perf_counter()
        search(query)
        times.append(1000 * (time.perf_counter() - started))
    return Times(statistics.median(times), (cpu_ms(pid) - before) / len(queries))


def run_clients(port: int, queries: Sequence[str], *, clients: int, seconds: float) -> Tally:
    """Search with several clients until the time is up."""
    tally = Tally()
    end = time.monotonic() + seconds

    def run(number: int) -> None:
        search = HttpSearch(port)
        for query in itertools.cycle(queries[number:] + queries[:number]):
            if time.monotonic() > end:
                return
            started = time.perf_counter()
            try:
                status = search(query)
            except OSError:
                status = 0
            tally.milliseconds.append(1000 * (time.perf_counter() - started))
            tally.errors += status != 200

    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    rng = random.Random(1)
    words = vocabulary(rng)
    queries = [" ".join(rng.choices(words[:2000], k=rng.randint(2, 5))) for _ in range(QUERIES)]
    with tempfile.TemporaryDirectory() as folder:
        where = options.index or Path(folder) / "bench.crx"
        with crx.open(where, settings={"reranker": ""} if options.index else SETTINGS) as index:
            if not options.index:
                index.add_documents(documents(options.chunks, rng, words))
            chunks = index.status().counts["chunks"]
            with serving(where) as (pid, port):
                index.search(queries[0])
                here = time_searches(index.search, queries, pid=os.getpid())
                # A connection of its own: the server closes one that was idle for seconds.
                over_http = HttpSearch(port)
                over_http(queries[0])
                served = time_searches(over_http, queries, pid=pid)
                run_clients(port, queries, clients=options.clients, seconds=1)
                before = resident_mb(pid)
                tally = run_clients(port, queries, clients=options.clients, seconds=options.seconds)
                after = resident_mb(pid)
    print(f"{processor()}, commit {commit()}, {chunks:,} chunks\n")
    print("| one client | median ms | CPU ms |\n|---|---:|---:|")
    print(f"| in this process | {here.median:.1f} | {here.cpu:.1f} |")
    print(f"| over HTTP | {served.median:.1f} | {served.cpu:.1f} |")
    print(f"| HTTP adds | {served.median - here.median:.1f} | {served.cpu - here.cpu:.1f} |")
    print(f"| ratio | {served.median / here.median:.2f} | {served.cpu / here.cpu:.2f} |\n")
    times = sorted(tally.milliseconds)
    print(f"| {options.clients} clients for {options.seconds:g} s | |\n|---|---:|")
    print(f"| searches | {len(times):,} |\n| errors | {tally.errors} |")
    print(f"| p50 ms | {times[len(times) // 2]:.0f} |")
    print(f"| p99 ms | {times[int(len(times) * 0.99)]:.0f} |")
    print(f"| resident MB, first second and end | {before:.0f}, {after:.0f} |")


if __name__ == "__main__":
    main()
