"""What every configuration gave on every question: the table all figures are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import orjson
from numpy.typing import NDArray

from crx.errors import UsageError
from crx.evaluate.configuration import CHUNKS, Configuration, grew_from
from crx.evaluate.statistics import Difference, difference

# Every k whose recall is kept, and those that are printed.
DEPTH = 20
SHOWN = (1, 5, 10, 20)
# Tokens of a prompt, in the embedder's, whose coverage is measured.
BUDGETS = (1000, 2000, 4000, 8000)
METRICS = (
    *(f"recall@{k}" for k in range(1, DEPTH + 1)),
    "mrr",
    "ndcg@10",
    *(f"coverage@{budget // 1000}k" for budget in BUDGETS),
    "tokens",
    "ms",
)
# Metrics of which less is better, and which are no reason to call a row better.
COSTS = frozenset({"tokens", "ms"})
METRIC = "recall@20"
# What a row is compared on whose ranking is that of the row it grew from.
WINDOW_METRIC = "coverage@4k"
_FORMAT = 1

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Indexed:
    """What an index held when a rung was asked, and what making it took in this run."""

    chunks: int
    seconds: float
    embedded: int
    windowed: int


@dataclass(frozen=True, slots=True)
class Against:
    """A row's difference to another row, and on which metric."""

    row: Configuration
    metric: str
    difference: Difference


@dataclass(frozen=True, slots=True)
class Results:
    """Questions by rows: `values[metric]` is (rows, queries) float64, in the order of both.

    `notes` say in one line each what was not done as asked.
    """

    set: str
    documents: int
    queries: tuple[str, ...]
    rows: tuple[Configuration, ...]
    indexed: Mapping[str, Indexed]
    values: Mapping[str, Values]
    notes: tuple[str, ...] = ()

    def of(self, row: Configuration, metric: str) -> Values:
        """Return the (queries,) values of a row."""
        values: Values = self.values[metric][self.rows.index(row)]
        return values

    def mean(self, row: Configuration, metric: str) -> float:
        """Return the mean of a row over its questions."""
        return float(self.of(row, metric).mean())

    def failure_rate(self, row: Configuration) -> float:
        """Return 1 - recall@20."""
        return 1 - self.mean(row, METRIC)

    def named(self, name: str) -> Configuration:
        """Return the row of a name; raises `UsageError` that lists those there are."""
        for row in self.rows:
            if row.name == name:
                return row
        raise UsageError(f"{name}: no such row; there are: {', '.join(r.name for r in self.rows)}")

    def against(
        self, row: Configuration, *, metric: str = "", baseline: Configuration | None = None
    ) -> Against | None:
        """Compare a row with the one it grew from, or with `baseline`; None where there is none.

        The metric is recall@20, but for a row that only reads more of the same chunks.
        """
        other = baseline if baseline is not None else grew_from(row, self.rows)
        if other is None or other == row:
            return None
        if not metric:
            same = replace(row, window=CHUNKS) == replace(other, window=CHUNKS)
            metric = WINDOW_METRIC if same and "auto" in (row.window, other.window) else METRIC
        return Against(other, metric, difference(self.of(row, metric), self.of(other, metric)))


def check_metric(name: str) -> str:
    """Return the name of a metric; raises `UsageError` for an unknown one."""
    if name not in METRICS:
        shown = [m for m in METRICS if not m.startswith("recall@")]
        raise UsageError(f"{name}: no such metric; want recall@1 to recall@20, {', '.join(shown)}")
    return name


def save(results: Results, file: Path) -> None:
    """Keep results, each value of each question, for a later comparison."""
    head = {
        "format": _FORMAT,
        "set": results.set,
        "documents": results.documents,
        "queries": results.queries,
        "rows": [asdict(row) for row in results.rows],
        "indexed": {name: asdict(each) for name, each in results.indexed.items()},
        "notes": results.notes,
    }
    head_bytes = np.frombuffer(orjson.dumps(head), dtype=np.uint8)
    with file.open("wb") as out:
        np.savez_compressed(out, allow_pickle=False, head=head_bytes, **dict(results.values))


def load(file: Path) -> Results:
    """Return results that were saved; raises `UsageError` for any other file."""
    if not file.is_file():
        raise UsageError(f'{file}: no such file; "crx eval run SET --save FILE" writes one')
    try:
        with file.open("rb") as source, np.load(source, allow_pickle=False) as arrays:
            head = orjson.loads(arrays["head"].tobytes())
            if head["format"] != _FORMAT:
                raise UsageError(f"{file}: saved by another version of crx; evaluate again")
            return Results(
                set=head["set"],
                documents=head["documents"],
                queries=tuple(head["queries"]),
                rows=tuple(Configuration(**row) for row in head["rows"]),
                indexed={name: Indexed(**each) for name, each in head["indexed"].items()},
                values={name: arrays[name] for name in METRICS},
                notes=tuple(head["notes"]),
            )
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile):
        raise UsageError(
            f'{file}: holds no saved results; "crx eval run SET --save FILE" writes them'
        ) from None


def paired(one: Results, other: Results) -> tuple[Results, Results]:
    """Return both results on the questions they share, in the order of the first."""
    there = {query: at for at, query in enumerate(other.queries)}
    shared = [(at, there[query]) for at, query in enumerate(one.queries) if query in there]
    if not shared:
        raise UsageError(f"{one.set} and {other.set} share no question; compare runs of one set")
    return _only(one, [at for at, _ in shared]), _only(other, [at for _, at in shared])


def _only(results: Results, queries: Sequence[int]) -> Results:
    return replace(
        results,
        queries=tuple(results.queries[at] for at in queries),
        values={name: values[:, queries] for name, values in results.values.items()},
    )
