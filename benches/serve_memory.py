"""Memory of `crx serve` over many mixed requests: resident and anonymous memory as they go on.

Of 100 requests 26 are searches by JSON, one of them with the reranker, 3 pages of searches that are
drawn from 200, 1 a search for a phrase, 2 for a pattern, 1 for an unknown word, 42 documents and
lists of them, 4 pages of documents, 18 the state, and 3 what nothing answers. Words are drawn anew
each time. The memory counts as level if what it is at the end is within 5% of that after `--warm`
requests.

Run: python benches/serve_memory.py INDEX [--requests 100000] [--warm 5000] [--clients 2]
     [--set NAME=VALUE ...]
"""

from __future__ import annotations

import argparse
import collections
import http.client
import json
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from harness import commit, processor

import crx

LEVEL = 0.05
REPORTS = 20


def draw_request(
    chance: random.Random, words: Sequence[str], ids: Sequence[str]
) -> tuple[str, str]:
    """Return the path of a request, and the body of one that is posted."""
    query = " ".join(chance.sample(words, chance.randint(1, 4)))
    number = chance.randrange(100)
    if number < 26:
        body = {"query": query, "limit": chance.randint(1, 20), "rerank": number == 0}
        return "/v1/search", json.dumps(body)
    if number < 29:
        return f"/?q={quote(' '.join(random.Random(chance.randrange(200)).sample(words, 3)))}", ""
    if number < 30:
        return f"/?q={quote(chr(34) + query + chr(34))}", ""
    if number < 32:
        return f"/?q=re:{chance.choice(words)}", ""
    if number < 33:
        return f"/?q={''.join(chance.choices('abcdefghijklm', k=30))}", ""
    if number < 75:
        listed = f"/v1/documents?contains={chance.choice(words)}"
        return chance.choice([f"/v1/documents/{chance.choice(ids)}", listed]), ""
    if number < 79:
        return f"/documents/{chance.choice(ids)}", ""
    if number < 97:
        return chance.choice(["/v1/status", "/health", "/metrics"]), ""
    return f"/none/{query.replace(' ', '/')}", ""


class Memory:
    """Resident and anonymous memory of a process in megabytes, now."""

    def __init__(self, pid: int) -> None:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        kilobytes = {name: int(number) for name, number in re.findall(r"(\w+):\s+(\d+) kB", text)}
        self.resident, self.anonymous = kilobytes["Rss"] / 1000, kilobytes["Anonymous"] / 1000


@contextmanager
def serving(index: Path, settings: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Run a server; yield its process id and port once its models are loaded."""
    words = [sys.executable, "-m", "crx", "serve", str(index), "--port", "0", "--quiet"]
    words += [part for each in settings for part in ("--set", each)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r":(\d+)$", server.stderr.readline().strip())
        assert found
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]))
        try:
            while b"ready" not in fetch(connection, "/health", "")[1]:
                time.sleep(0.1)
            yield server.pid, int(found[1])
        finally:
            server.terminate()


def fetch(connection: http.client.HTTPConnection, path: str, body: str) -> tuple[int, bytes]:
    """Return the status and the body of an answer."""
    if body:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
    else:
        connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read()


def read_words(index: crx.Index) -> list[str]:
    """Return the words of an index."""
    texts = (index.store.text(row.doc) for row in index.store.documents())
    return sorted({word for text in texts for word in re.findall(r"[a-z]{4,12}", text)})


class Clients:
    """Clients that send requests until so many were answered, and what they saw."""

    def __init__(self, port: int, words: Sequence[str], ids: Sequence[str]) -> None:
        self._port, self._words, self._ids = port, words, ids
        self._lock = threading.Lock()
        self.statuses: collections.Counter[int] = collections.Counter()
        self._sent = 0

    def run(self, until: int, *, clients: int, seed: int) -> None:
        """Send requests until `until` were sent in all."""
        chances = [random.Random(f"{seed} {number}") for number in range(clients)]
        threads = [threading.Thread(target=self._run, args=(until, each)) for each in chances]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _run(self, until: int, chance: random.Random) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        while self._take(until):
            path, body = draw_request(chance, self._words, self._ids)
            try:
                status, _ = fetch(connection, path, body)
            except (OSError, http.client.HTTPException):  # the server closes one that is idle
                connection.close()
                status = 0
            with self._lock:
                self.statuses[status] += 1

    def _take(self, until: int) -> bool:
        with self._lock:
            more = self._sent < until
            self._sent += more
            return more


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--warm", type=int, default=5000)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    with crx.open(options.index, create=False) as index:
        words = read_words(index)
    print(f"{processor()}, commit {commit()}\n\n| requests | resident MB | anonymous MB | s |")
    print("|---:|---:|---:|---:|")
    with serving(options.index, options.set) as (pid, port):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        listed = json.loads(fetch(connection, "/v1/documents?limit=100", "")[1])
        clients = Clients(port, words, [each["id"] for each in listed["documents"]])
        started = time.monotonic()
        step = max(1, options.requests // REPORTS)
        marks = {options.warm, *range(step, options.requests + 1, step)}
        seen = {}
        for count in sorted(marks):
            clients.run(count, clients=options.clients, seed=count)
            seen[count] = Memory(pid)
            took = time.monotonic() - started
            print(
                f"| {count:,} | {seen[count].resident:.0f} | {seen[count].anonymous:.0f} "
                f"| {took:.0f} |",
                flush=True,
            )
    warm, last = seen[options.warm].resident, seen[max(marks)].resident
    print(f"\nstatuses {dict(clients.statuses)}; {last / warm - 1:+.1%} since {options.warm:,}")
    if last > warm * (1 + LEVEL):
        raise SystemExit(f"not level: {warm:.0f} MB, then {last:.0f} MB")


if __name__ == "__main__":
    main()
