"""Simulation of searches over shards, fitted to small sizes and compared with measured large ones.

    python benches/scale_sim.py [--json benches/results/scale/simulated.json]

Service times of the legs follow laws of the number of chunks, whose two or three constants are
fitted to the measured points of as many sizes (`LAWS`). All other points of
`results/scale/points.json` are predicted and compared with the measurement. Then deployments of
10 million, 1 billion and 100 billion chunks are simulated: queries arrive at random, each goes to
one replica of every shard, waits there behind earlier ones, and is answered when the last shard has
answered. A query that is hard for one shard is hard for all, because its words are.

Times are those of the CPU: of two cores that other work shares, they are what can be repeated. The
exit code is 1 if a predicted point is off by more than 20%, but for those of `predicted_errors`.
Prices, the network, disks and GPUs are assumptions; indexes on disk and of int8 are not in crx.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import write_results

RESULTS = Path(__file__).parent / "results" / "scale"
Curve = Callable[[float], float]
Points = Mapping[str, Mapping[str, Mapping[str, float]]]

TOLERANCE = 0.2
# Points whose prediction may be off by more; see `predicted_errors`.
EXCEPTED = (("graph", 10_000), ("bm25", 4_000_000))

QUERIES = 4000
# For the comparison of a 99th percentile with a measured one: its own error is then a percent.
QUERIES_COMPARED = 40_000


def line(sizes: Sequence[float], values: Sequence[float]) -> Curve:
    """Return `c + a n` through two points: postings written, bytes, the rows of a scan."""
    return _affine(lambda n: n, sizes, values)


def logarithm(sizes: Sequence[float], values: Sequence[float]) -> Curve:
    """Return `c + a log(n)` through two points: the length of a walk through a graph."""
    return _affine(math.log, sizes, values)


def power(sizes: Sequence[float], values: Sequence[float]) -> Curve:
    """Return `a n^b` through two points.

    A graph is built by a walk for each node, and each step takes longer, because fewer of its
    vectors are in the processor's cache.
    """
    low, high = sizes
    exponent = math.log(values[1] / values[0]) / math.log(high / low)
    return lambda n: float(values[0] * (n / low) ** exponent)


def power_and_constant(sizes: Sequence[float], values: Sequence[float]) -> Curve:
    """Return `c + a n^b` through three points, with `b` between 0 and 1.

    Every search costs `c`. The postings of a term grow with the chunks, but fewer of them are read:
    the more chunks there are, the higher is the least score of the best 150, and terms that cannot
    lift a chunk over it are skipped (MaxScore, Turtle and Flood 1995).

    Raises:
        ValueError: the points are on no such curve.
    """
    first, middle, last = sizes
    wanted = (values[1] - values[0]) / (values[2] - values[0])

    def share(exponent: float) -> float:
        return float((middle**exponent - first**exponent) / (last**exponent - first**exponent))

    low, high = 1e-3, 1.0
    if not share(high) <= wanted <= share(low):
        raise ValueError(f"{values} at {sizes} chunks: no power between 0 and 1 goes through them")
    for _ in range(60):
        between = (low + high) / 2
        low, high = (between, high) if share(between) > wanted else (low, between)
    return _affine(lambda n: n**low, [first, last], [values[0], values[2]])


def _affine(of: Curve, sizes: Sequence[float], values: Sequence[float]) -> Curve:
    low, high = sizes
    slope = (values[1] - values[0]) / (of(high) - of(low))
    return lambda n: values[0] + slope * (of(n) - of(low))


@dataclass(frozen=True)
class Law:
    """A curve, and the sizes whose measurements it goes through. All others are predicted."""

    fit: Callable[[Sequence[float], Sequence[float]], Curve]
    sizes: tuple[int, ...]


LAWS: Mapping[str, Mapping[str, Law]] = {
    "bm25": {
        "search_cpu_p50_ms": Law(power_and_constant, (10_000, 300_000, 4_000_000)),
        "search_cpu_p99_ms": Law(power_and_constant, (10_000, 300_000, 4_000_000)),
        "search_cpu_ms": Law(power_and_constant, (10_000, 300_000, 4_000_000)),
        "index_cpu_s": Law(line, (10_000, 300_000)),
        "bytes": Law(line, (10_000, 300_000)),
    },
    "scan": {
        "search_cpu_p50_ms": Law(line, (30_000, 300_000)),
        "search_cpu_ms": Law(line, (30_000, 300_000)),
        "bytes": Law(line, (30_000, 300_000)),
    },
    "graph": {
        "search_cpu_p50_ms": Law(logarithm, (30_000, 300_000)),
        "search_cpu_ms": Law(logarithm, (30_000, 300_000)),
        "index_cpu_s": Law(power, (30_000, 300_000)),
        "bytes": Law(line, (30_000, 300_000)),
    },
}


@dataclass(frozen=True)
class Comparison:
    """A figure of one size, as measured and as the law has it; `fitted` ones prove nothing."""

    leg: str
    chunks: int
    figure: str
    measured: float
    modelled: float
    fitted: bool

    @property
    def error(self) -> float:
        return self.modelled / self.measured - 1


class Model:
    """The laws of the legs, with constants fitted to the points of a few sizes."""

    def __init__(self, points: Points) -> None:
        self._points = points
        self._curves = {
            (leg, figure): law.fit(law.sizes, [points[leg][str(n)][figure] for n in law.sizes])
            for leg, laws in LAWS.items()
            for figure, law in laws.items()
        }

    def at(self, leg: str, figure: str, chunks: float) -> float:
        """Return a figure of a leg with so many chunks."""
        return self._curves[leg, figure](chunks)

    def comparisons(self) -> Iterator[Comparison]:
        """Yield each measured figure beside what the law has."""
        for leg, figure in self._curves:
            for size, point in sorted(self._points[leg].items(), key=lambda item: int(item[0])):
                modelled = self.at(leg, figure, int(size))
                fitted = int(size) in LAWS[leg][figure].sizes
                yield Comparison(leg, int(size), figure, point[figure], modelled, fitted)

    def spread(self, chunks: float) -> float:
        """Return the standard deviation of the logarithm of BM25's times."""
        p50, p99 = (self.at("bm25", f"search_cpu_{name}_ms", chunks) for name in ("p50", "p99"))
        # 2.326 standard deviations lie between the median and the 99th percentile.
        return math.log(p99 / p50) / 2.326


@dataclass(frozen=True)
class Constants:
    """Bytes and times a chunk that were measured; `docs/scale.md` names the source of each."""

    store_bytes: float = 2230
    bm25_bytes: float = 162
    half_bytes: float = 784
    int8_bytes: float = 384
    code_bytes: float = 48
    # Rows of hits and their passages: a whole search of 11,500 chunks without its legs.
    rows_ms: float = 8.0
    embed_core_ms: float = 79.0
    split_core_ms: float = 0.5


@dataclass(frozen=True)
class Assumptions:
    """What was not measured: prices, the network, disks, GPUs."""

    core_hour: float = 0.04
    memory_gb_hour: float = 0.005
    disk_gb_month: float = 0.08
    gpu_hour: float = 2.5
    hours_a_month: float = 730.0
    # A round trip in one data centre, and the merge of a shard's 300 candidates.
    network_ms: float = 0.5
    merge_ms_a_shard: float = 0.02
    # A random read of 4 kB of an NVMe disk, and how many go on at a time.
    read_ms: float = 0.1
    reads_at_a_time: int = 32
    # DiskANN (Subramanya et al. 2019) reports less than 3 ms a query for 10^9 rows.
    disk_graph_ms: float = 3.0
    rescored: int = 150
    # bf16 of an H100 by its data sheet, and the share of it that is reached.
    gpu_flops: float = 989e12
    gpu_share: float = 0.4
    # A model of eight billion parameters; tokens that a chunk costs in a window of six.
    parameters: float = 8e9
    context_tokens: float = 300.0


@dataclass(frozen=True)
class Deployment:
    """A collection over shards; `dense` says where and how vectors are searched."""

    name: str
    chunks: float
    shards: int
    replicas: int
    cores: int
    dense: str
    queries_a_second: float


# 4 M chunks a shard, so that BM25 takes about 10 ms of one.
DEPLOYMENTS = (
    Deployment("10 M, scan", 1e7, 10, 1, 1, "scan", 1),
    Deployment("10 M, graph in memory", 1e7, 4, 1, 2, "graph", 10),
    Deployment("1 G, graph in memory", 1e9, 250, 2, 4, "graph", 100),
    Deployment("1 G, int8 graph in memory, rescored from disk", 1e9, 250, 2, 4, "int8", 100),
    Deployment("1 G, graph on disk", 1e9, 250, 2, 4, "disk", 100),
    Deployment("100 G, graph on disk", 1e11, 25_000, 2, 1, "disk", 10),
)


def dense_ms(model: Model, kind: str, chunks: float, facts: Assumptions) -> float:
    """Return the time of the dense leg of a shard."""
    if kind == "none":
        return 0.0
    if kind == "scan":
        return model.at("scan", "search_cpu_ms", chunks)
    rescoring = facts.rescored / facts.reads_at_a_time * facts.read_ms
    if kind == "disk":
        return facts.disk_graph_ms + rescoring
    walk = model.at("graph", "search_cpu_ms", chunks)
    return walk if kind == "graph" else walk + rescoring


def simulate(
    model: Model, deployment: Deployment, facts: Assumptions, *, queries: int = QUERIES
) -> dict[str, float]:
    """Return percentiles of the latency of both legs, and the share of time that a core works."""
    rng = np.random.default_rng(0)
    chunks = deployment.chunks / deployment.shards
    dense = dense_ms(model, deployment.dense, chunks, facts)
    median = model.at("bm25", "search_cpu_p50_ms", chunks)
    # Half of the variance is the query's, common to all shards, half is the shard's.
    sigma = model.spread(chunks) / math.sqrt(2)
    servers = deployment.replicas * deployment.cores
    free = np.zeros((servers, deployment.shards))
    arrivals = np.cumsum(rng.exponential(1e3 / deployment.queries_a_second, queries))
    latencies, busy = np.empty(queries), 0.0
    for query, arrival in enumerate(arrivals):
        times = rng.normal(rng.normal(0, sigma), sigma, deployment.shards)
        service = median * np.exp(times) + dense
        server = query % servers
        free[server] = np.maximum(free[server], arrival) + service
        latencies[query] = free[server].max() - arrival
        busy += float(service.sum())
    if deployment.shards > 1:
        latencies += facts.network_ms + facts.merge_ms_a_shard * deployment.shards
    p50, p99 = np.percentile(latencies, [50, 99]).tolist()
    used = busy / (float(arrivals[-1]) * servers * deployment.shards)
    return {"p50_ms": p50, "p99_ms": p99, "core_busy": used}


def simulate_alone(model: Model, points: Points) -> Iterator[Comparison]:
    """Yield BM25 of one shard and one client, simulated, beside what was measured."""
    for size, point in sorted(points["bm25"].items(), key=lambda item: int(item[0])):
        alone = Deployment("", int(size), 1, 1, 1, "none", queries_a_second=0.01)
        got = simulate(model, alone, Assumptions(), queries=QUERIES_COMPARED)
        for name in ("p50_ms", "p99_ms"):
            measured = point[f"search_cpu_{name}"]
            fitted = int(size) in LAWS["bm25"][f"search_cpu_{name}"].sizes
            yield Comparison("simulated bm25", int(size), name, measured, got[name], fitted)


def bill(
    model: Model, deployment: Deployment, constants: Constants, facts: Assumptions
) -> dict[str, float]:
    """Return what a deployment holds and costs a month, and what its index costs to make."""
    per_shard = deployment.chunks / deployment.shards
    links = model.at("graph", "bytes", per_shard) / per_shard - 2 * constants.int8_bytes
    memory = {
        "scan": constants.half_bytes,
        "graph": constants.half_bytes + links,
        "int8": constants.int8_bytes + links,
        "disk": constants.code_bytes,
    }[deployment.dense] + constants.bm25_bytes
    disk = constants.store_bytes + constants.bm25_bytes + constants.half_bytes
    if deployment.dense == "disk":
        disk += links
    copies = deployment.chunks * deployment.replicas
    cores = deployment.shards * deployment.replicas * deployment.cores
    graph_s = model.at("graph", "index_cpu_s", per_shard) if deployment.dense != "scan" else 0.0
    build_s = deployment.shards * (model.at("bm25", "index_cpu_s", per_shard) + graph_s)
    embed_h = deployment.chunks * (constants.embed_core_ms + constants.split_core_ms) / 3.6e6
    flop = 2 * facts.parameters * facts.context_tokens
    context_h = deployment.chunks * flop / (facts.gpu_flops * facts.gpu_share) / 3600
    monthly = (
        cores * facts.core_hour * facts.hours_a_month
        + copies * memory / 1e9 * facts.memory_gb_hour * facts.hours_a_month
        + copies * disk / 1e9 * facts.disk_gb_month
    )
    return {
        "memory_gb": copies * memory / 1e9,
        "disk_gb": copies * disk / 1e9,
        "cores_in_all": cores,
        "dollars_a_month": monthly,
        "embed_core_hours": embed_h,
        "legs_core_hours": build_s / 3600,
        "index_dollars": (embed_h + build_s / 3600) * facts.core_hour,
        "context_gpu_hours": context_h,
        "context_dollars": context_h * facts.gpu_hour,
    }


def results(points: Points) -> dict[str, Any]:
    """Return the comparisons and the deployments, with all constants."""
    model, constants, facts = Model(points), Constants(), Assumptions()
    compared = [*model.comparisons(), *simulate_alone(model, points)]
    deployments = {}
    for each in DEPLOYMENTS:
        queries = QUERIES if each.shards <= 1000 else QUERIES // 10
        found = simulate(model, each, facts, queries=queries)
        deployments[each.name] = asdict(each) | found | bill(model, each, constants, facts)
    return {
        "fitted": {
            leg: {figure: law.sizes for figure, law in laws.items()} for leg, laws in LAWS.items()
        },
        "constants": asdict(constants),
        "assumptions": asdict(facts),
        "compared": [{**asdict(each), "error": each.error} for each in compared],
        "deployments": deployments,
    }


def predicted_errors(figures: Mapping[str, Any]) -> list[float]:
    """Return the errors at sizes that the laws were not fitted to, without those known to be large.

    10,000 rows fit into the processor's cache: the laws of scan and graph do not hold for them.
    4 million chunks were measured while other work wanted the cores.
    """
    return [
        each["error"]
        for each in figures["compared"]
        if not each["fitted"] and (each["leg"], each["chunks"]) not in EXCEPTED
    ]


def tables(figures: Mapping[str, Any]) -> dict[str, str]:
    """Return the tables of docs/scale.md."""
    compared = [
        [
            each["leg"],
            f"{each['chunks']:,}",
            each["figure"].replace("_", " "),
            _short(each["measured"]),
            _short(each["modelled"]),
            "fitted" if each["fitted"] else f"{100 * each['error']:+.0f}%",
        ]
        for each in figures["compared"]
        if each["figure"] != "search_cpu_ms"
    ]
    deployed = [
        [
            name,
            f"{each['shards']:,} x {each['replicas']} x {each['cores']}",
            f"{each['queries_a_second']:g}",
            _short(each["memory_gb"]),
            _short(each["disk_gb"]),
            _short(each["p50_ms"]),
            _short(each["p99_ms"]),
            f"{100 * each['core_busy']:.0f}%",
            _short(each["dollars_a_month"]),
        ]
        for name, each in figures["deployments"].items()
    ]
    made = [
        [
            f"{each['chunks']:,.0f}",
            _short(each["embed_core_hours"]),
            _short(each["legs_core_hours"]),
            _short(each["index_dollars"]),
            _short(each["context_gpu_hours"]),
            _short(each["context_dollars"]),
        ]
        for each in {each["chunks"]: each for each in figures["deployments"].values()}.values()
    ]
    return {
        "compared": _table("| leg | chunks | figure | measured | modelled | error |", compared),
        "deployed": _table(
            "| deployment | shards x replicas x cores | queries/s | memory, GB | disk, GB "
            "| p50, ms | p99, ms | cores busy | $ a month |",
            deployed,
        ),
        "made": _table(
            "| chunks | embedding, core hours | legs, core hours | $ of both "
            "| contexts, GPU hours | $ of contexts |",
            made,
        ),
    }


def _table(head: str, rows: list[list[str]]) -> str:
    rule = "|---" + "|---:" * (head.count("|") - 2) + "|"
    return "\n".join([head, rule, *(f"| {' | '.join(row)} |" for row in rows)])


def _short(value: float) -> str:
    """Return three digits of a number."""
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{round(value, 2 - math.floor(math.log10(abs(value)))):,.{digits}f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="a file for the figures")
    arguments = parser.parse_args()
    points: Points = json.loads((RESULTS / "points.json").read_text())["figures"]
    figures = results(points)
    print("\n\n".join(tables(figures).values()))
    if arguments.json:
        write_results(arguments.json, benchmark="searches over shards", rounds=1, figures=figures)
    return int(any(abs(error) > TOLERANCE for error in predicted_errors(figures)))


if __name__ == "__main__":
    raise SystemExit(main())
