"""Results as a person and as a program read them."""

from __future__ import annotations

from dataclasses import asdict

from crx.cli.output import table
from crx.evaluate.configuration import Configuration, contexts_name
from crx.evaluate.results import BUDGETS, METRIC, SHOWN, Against, Indexed, Results
from crx.evaluate.statistics import RESAMPLES

COVERAGES = tuple(f"coverage@{budget // 1000}k" for budget in BUDGETS)


def as_text(results: Results, *, metric: str = "", baseline: Configuration | None = None) -> str:
    """Return the table, a line that says what was measured, and one that says how to read it."""
    chunks = sorted({each.chunks for each in results.indexed.values()})
    return "\n".join(
        [
            f"{results.set}: {results.documents} documents, "
            f"{' to '.join(str(n) for n in {chunks[0]: 0, chunks[-1]: 0})} chunks, "
            f"{len(results.queries)} queries",
            "",
            _table(results, metric, baseline),
            "",
            f"recall, coverage and differences in percent; differences on {metric or METRIC} "
            f"unless said, against the row each grew from"
            if baseline is None
            else f"recall, coverage and differences in percent; differences on {metric or METRIC} "
            f"against {baseline.name}",
            f"95% intervals: paired bootstrap over questions, {RESAMPLES:,} resamples; "
            f"p: sign-flip test; neither is corrected for the number of rows",
        ]
    )


def as_object(
    results: Results, *, metric: str = "", baseline: Configuration | None = None
) -> dict[str, object]:
    """Return results as plain objects."""
    return {
        "set": results.set,
        "documents": results.documents,
        "queries": len(results.queries),
        "indexed": {rung: asdict(each) for rung, each in results.indexed.items()},
        "rows": [
            {
                "name": row.name,
                **asdict(row),
                "figures": figures(results, row),
                "against": _against(results.against(row, metric=metric, baseline=baseline)),
            }
            for row in results.rows
        ],
    }


def figures(results: Results, row: Configuration) -> dict[str, float]:
    """Return the means of a row, by metric."""
    names = (*(f"recall@{k}" for k in SHOWN), "mrr", "ndcg@10", *COVERAGES, "tokens")
    return {
        **{name: results.mean(row, name) for name in names},
        "failure_rate": results.failure_rate(row),
        "ms_per_query": results.mean(row, "ms"),
    }


def points(value: float) -> str:
    """Return a difference of shares in percent, with its sign."""
    return f"{100 * value:+.1f}"


def probability(p: float) -> str:
    """Return a p-value in three digits; none is 0."""
    return "<.001" if p < 0.001 else f"{p:.3f}".replace("0.", ".", 1)


def _table(results: Results, metric: str, baseline: Configuration | None) -> str:
    head = ["", *(f"@{k}" for k in SHOWN), "failure", "MRR", "nDCG"]
    head += [f"{budget // 1000}k" for budget in BUDGETS]
    head += ["ms", "index", "difference, 95%", "p", "against"]
    rows = [
        _row(results, row, results.against(row, metric=metric, baseline=baseline))
        for row in results.rows
    ]
    return table([head, *rows], right=range(1, len(head) - 3))


def _row(results: Results, row: Configuration, against: Against | None) -> list[str]:
    return [
        row.name,
        *(f"{100 * results.mean(row, f'recall@{k}'):.1f}" for k in SHOWN),
        f"{100 * results.failure_rate(row):.1f}",
        f"{results.mean(row, 'mrr'):.3f}",
        f"{results.mean(row, 'ndcg@10'):.3f}",
        *(f"{100 * results.mean(row, name):.1f}" for name in COVERAGES),
        f"{results.mean(row, 'ms'):.1f}",
        _minutes(results.indexed[row.contexts]),
        *_compared(against),
    ]


def _compared(against: Against | None) -> list[str]:
    if against is None:
        return ["", "", ""]
    found = against.difference
    on = "" if against.metric == METRIC else f", {against.metric}"
    return [
        f"{points(found.mean)} [{points(found.low)}, {points(found.high)}]",
        probability(found.p),
        against.row.name + on,
    ]


def _minutes(indexed: Indexed) -> str:
    """Return how long indexing took; an index that was there says nothing of that."""
    return f"{indexed.seconds / 60:.1f} min" if indexed.embedded else "kept"


def _against(against: Against | None) -> dict[str, object] | None:
    if against is None:
        return None
    return {
        "row": against.row.name,
        "contexts": contexts_name(against.row.contexts),
        "metric": against.metric,
        **asdict(against.difference),
    }
