"""Results of an evaluation: every metric of every configuration on every question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import orjson
from numpy.typing import NDArray

from crx.config import Value
from crx.errors import UsageError
from crx_evaluate.failures import FailedQuery
from crx_evaluate.pipeline_config import CHUNKS, PipelineConfig, find_parent
from crx_evaluate.statistics import Difference, difference

# Recall is kept for every k up to this one and printed for a few.
MAX_K = 20
SHOWN_KS = (1, 5, 10, 20)
# The first tokens of what is returned, counted by the embedder, in which answers are looked for.
BUDGETS = (500, 1000, 2000, 4000)
WHOLE = tuple(f"whole@{budget}" for budget in BUDGETS)
METRICS = (
    *(f"recall@{k}" for k in range(1, MAX_K + 1)),
    "mrr",
    "ndcg@10",
    *WHOLE,
    "tokens",
    "ms",
)
# Metrics of which less is better; they do not make a row better.
COST_METRICS = frozenset({"tokens", "ms"})
PRIMARY_METRIC = "recall@20"
# The metric of a row that has the same ranking as its parent.
TOKENS_METRIC = WHOLE[-1]
_FORMAT = 1

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class IndexingStats:
    """What was indexed with a source of contexts, and the time it took in this run."""

    chunks: int
    seconds: float
    embedded: int
    windowed: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of a row to another row on a metric."""

    row: PipelineConfig
    metric: str
    difference: Difference


@dataclass(frozen=True, slots=True)
class Results:
    """Measured values: `values[metric]` is (rows, queries) float64, in the order of both.

    `indexed` is by source of contexts. `langs` are the languages of the questions (`Query.lang`),
    in their order; it is empty if the set names none. `kinds` are their kinds, likewise. `notes`
    are warnings of one line each, such as a reranker that failed. `failures` are the first
    questions of each ranking that failed at `failed_at`; they are not saved. `settings` are those
    in effect, except the source of contexts, with the fingerprint of the reranker.
    """

    set: str
    documents: int
    queries: tuple[str, ...]
    rows: tuple[PipelineConfig, ...]
    indexed: Mapping[str, IndexingStats]
    values: Mapping[str, Values]
    notes: tuple[str, ...] = ()
    langs: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    settings: Mapping[str, Value] = field(default_factory=dict)
    failed_at: int = MAX_K
    failures: Mapping[PipelineConfig, tuple[FailedQuery, ...]] = field(default_factory=dict)

    def values_of(self, row: PipelineConfig, metric: str) -> Values:
        """Return the (queries,) values of a row."""
        values: Values = self.values[metric][self.rows.index(row)]
        return values

    def mean(self, row: PipelineConfig, metric: str) -> float:
        """Return the mean of a row over its questions."""
        return float(self.values_of(row, metric).mean())

    def by_language(self) -> dict[str, Results]:
        """Return the results on the questions of each language, in alphabetical order."""
        return self._by_group(self.langs)

    def by_kind(self) -> dict[str, Results]:
        """Return the results on the questions of each kind, in alphabetical order."""
        return self._by_group(self.kinds)

    def _by_group(self, groups: Sequence[str]) -> dict[str, Results]:
        return {
            group: select_queries(self, [at for at, each in enumerate(groups) if each == group])
            for group in sorted(set(groups))
        }

    def failure_rate(self, row: PipelineConfig) -> float:
        """Return 1 - recall@20."""
        return 1 - self.mean(row, PRIMARY_METRIC)

    def count_failed(self, row: PipelineConfig) -> int:
        """Return on how many questions a row does not find all gold items at `failed_at`."""
        return int((self.values_of(row, f"recall@{self.failed_at}") < 1).sum())

    def find_row(self, name: str) -> PipelineConfig:
        """Return the row of a name; raises `UsageError`, with the names, if there is none."""
        for row in self.rows:
            if row.name == name:
                return row
        raise UsageError(f"{name}: no such row; use one of: {', '.join(r.name for r in self.rows)}")

    def compare_row(
        self, row: PipelineConfig, *, metric: str = "", baseline: PipelineConfig | None = None
    ) -> Comparison | None:
        """Compare a row with its parent, or with `baseline`; None if there is neither.

        The default metric is recall@20; it is whole@4000 if only the window differs.
        """
        other = baseline if baseline is not None else find_parent(row, self.rows)
        if other is None or other == row:
            return None
        if not metric:
            same = replace(row, window=CHUNKS) == replace(other, window=CHUNKS)
            metric = (
                TOKENS_METRIC if same and "auto" in (row.window, other.window) else PRIMARY_METRIC
            )
        return Comparison(
            other, metric, difference(self.values_of(row, metric), self.values_of(other, metric))
        )


def check_metric(name: str) -> str:
    """Return the name of a metric; raises `UsageError` for an unknown one."""
    if name not in METRICS:
        shown = [m for m in METRICS if not m.startswith("recall@")]
        raise UsageError(f"{name}: no such metric; use recall@1 to recall@20, {', '.join(shown)}")
    return name


def save(results: Results, file: Path) -> None:
    """Write results, with the values of each question, for a later comparison."""
    head = {
        "format": _FORMAT,
        "set": results.set,
        "documents": results.documents,
        "queries": results.queries,
        "rows": [asdict(row) for row in results.rows],
        "indexed": {name: asdict(each) for name, each in results.indexed.items()},
        "notes": results.notes,
        "langs": results.langs,
        "kinds": results.kinds,
        "settings": results.settings,
    }
    head_bytes = np.frombuffer(orjson.dumps(head), dtype=np.uint8)
    with file.open("wb") as out:
        np.savez_compressed(out, allow_pickle=False, head=head_bytes, **dict(results.values))


def load(file: Path) -> Results:
    """Read results that `save` wrote; raises `UsageError` for any other file."""
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
                rows=tuple(PipelineConfig(**row) for row in head["rows"]),
                indexed={name: IndexingStats(**each) for name, each in head["indexed"].items()},
                values={name: arrays[name] for name in METRICS},
                notes=tuple(head["notes"]),
                langs=tuple(head.get("langs", ())),
                kinds=tuple(head.get("kinds", ())),
                settings=head.get("settings", {}),
            )
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile):
        raise UsageError(
            f'{file}: contains no saved results; "crx eval run SET --save FILE" writes them'
        ) from None


def pair_results(one: Results, other: Results) -> tuple[Results, Results]:
    """Return both results for the questions they share, in the order of the first."""
    there = {query: at for at, query in enumerate(other.queries)}
    shared = [(at, there[query]) for at, query in enumerate(one.queries) if query in there]
    if not shared:
        raise UsageError(
            f"{one.set} and {other.set} share no question; compare two runs of one set"
        )
    return select_queries(one, [at for at, _ in shared]), select_queries(
        other, [at for _, at in shared]
    )


def select_queries(results: Results, queries: Sequence[int]) -> Results:
    """Return the results on some of the questions, by their index."""
    return replace(
        results,
        queries=tuple(results.queries[at] for at in queries),
        langs=tuple(results.langs[at] for at in queries) if results.langs else (),
        kinds=tuple(results.kinds[at] for at in queries) if results.kinds else (),
        values={name: values[:, queries] for name, values in results.values.items()},
    )
