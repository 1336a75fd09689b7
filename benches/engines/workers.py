"""An index of small documents by one process, by workers, and by actors of Ray that are lost.

    pip install "ray[client]"
    python benches/engines/workers.py [--documents 2000] [--json FILE]

Documents of a chunk each, of the words of `bm25.py`, with `hashed`, which embeds on one core.
The nodes of Ray are two on this machine with a core each. In the last row a worker is killed by
SIGKILL at a quarter of the chunks, and its node is removed at half. Every index is compared with
that of one process: all rows of the store, and the hits and scores of 50 queries.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

_ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(_ROOT / each) for each in ("python", "tests/support", "benches")]
from corpus import RandomWalks, library_words  # noqa: E402
from equal_indexes import read_tables  # noqa: E402
from harness import commit, processor, write_results  # noqa: E402

import crx  # noqa: E402
from crx.ingest.report import Progress  # noqa: E402

SETTINGS = {"embedder": "hashed:d=384"}
QUERIES = 50

Watch = Callable[[Progress], None]
Built = tuple[dict[str, list[str]], list[object]]


def write_documents(folder: Path, count: int) -> list[str]:
    """Write documents of 60 words, which are a chunk each; return queries."""
    words, text = library_words()
    rows = RandomWalks(text).draw(count, np.random.default_rng(1)).tolist()
    for number, row in enumerate(rows):
        document = f"# Document {number}\n\n{' '.join(words[word] for word in row[:60])}.\n"
        (folder / f"{number:05}.md").write_text(document)
    return [" ".join(words[word] for word in row[:6]) for row in rows[:QUERIES]]


def build(folder: Path, docs: Path, queries: list[str], **settings: object) -> tuple[Built, float]:
    """Return the rows and hits of a new index, and the seconds that it took."""
    watch: Watch | None = settings.pop("watch", None)  # type: ignore[assignment]
    started = time.perf_counter()
    with crx.open(folder, settings={**SETTINGS, **settings}) as index:
        index.add(docs, on_progress=watch)
        seconds = time.perf_counter() - started
        hits: list[object] = [index.search(query).hits for query in queries]
    return (read_tables(folder), hits), seconds


def pids_of_actors() -> list[int]:
    """Return the processes of actors."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if name.startswith(b"ray::RayWorker"):
            found.append(int(folder.name))
    return found


class Faults:
    """Kills a worker at a quarter of the chunks and removes a node at half."""

    def __init__(self, cluster: object, chunks: int) -> None:
        self._cluster = cluster
        self._chunks = chunks
        self.done: list[str] = []

    def __call__(self, progress: Progress) -> None:
        share = progress.embedded / self._chunks
        if share > 0.25 and not self.done:
            os.kill(pids_of_actors()[0], signal.SIGKILL)
            self.done.append("worker")
        elif share > 0.5 and len(self.done) == 1:
            (node,) = self._cluster.worker_nodes  # type: ignore[attr-defined]
            self._cluster.remove_node(node, allow_graceful=False)  # type: ignore[attr-defined]
            self.done.append("node")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--json", help="a file for the figures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        figures = measure(Path(scratch), arguments.documents)
    print(f"{processor()}, {os.cpu_count()} cores, commit {commit()}")
    for name, each in figures.items():
        print(name, each)
    if arguments.json:
        benchmark = f"index of {arguments.documents} documents"
        write_results(arguments.json, benchmark=benchmark, rounds=1, figures=figures)


def measure(scratch: Path, documents: int) -> dict[str, dict[str, object]]:
    from ray.cluster_utils import Cluster  # type: ignore[import-not-found]

    docs = scratch / "docs"
    docs.mkdir()
    queries = write_documents(docs, documents)
    cpu = time.process_time()
    one, seconds = build(scratch / "one", docs, queries)
    cpu = time.process_time() - cpu
    chunks = len(one[0]["chunk"])
    figures: dict[str, dict[str, object]] = {
        "one process": {"s": seconds, "cpu_s": cpu, "chunks": chunks, "load": os.getloadavg()[0]}
    }

    def compare(name: str, built: tuple[Built, float]) -> None:
        found, taken = built
        load = os.getloadavg()[0]
        figures[name] = {
            "s": taken, "speed_up": seconds / taken, "equal": found == one, "load": load
        }  # fmt: skip
        print(name, figures[name], flush=True)

    compare("two workers", build(scratch / "two", docs, queries, workers=2))
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    os.environ["RAY_ADDRESS"] = cluster.address
    on_ray = {"workers": 2, "workers_on": "ray"}
    compare("ray, two nodes", build(scratch / "ray", docs, queries, **on_ray))
    faults = Faults(cluster, chunks)
    compare(
        "ray, a worker and a node lost",
        build(scratch / "lost", docs, queries, **on_ray, watch=faults),
    )
    figures["ray, a worker and a node lost"]["lost"] = faults.done
    cluster.shutdown()
    return figures


if __name__ == "__main__":
    main()
