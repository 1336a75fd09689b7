"""Results of an evaluation as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from crx._cli.tables import format_table
from crx.context_registry import parse_contexts
from crx_evaluate.pipeline_config import CHUNKS, PipelineConfig, contexts_name
from crx_evaluate.recommend import MAX_LOSS, Recommendation
from crx_evaluate.results import (
    BUDGETS,
    PRIMARY_METRIC,
    SHOWN_KS,
    WHOLE,
    Comparison,
    IndexingStats,
    Results,
)
from crx_evaluate.statistics import RESAMPLES, Difference, smallest_significant_count

# The group of the questions without a language or kind, in a set that names those of others.
UNNAMED_GROUP = "other"
# Failed questions whose ids are printed.
LISTED_IDS = 5


def as_text(results: Results, *, metric: str = "", baseline: PipelineConfig | None = None) -> str:
    """Return what was measured, the table, and how to read it."""
    rows = table_rows(results, metric=metric, baseline=baseline)
    lines = [f"{about(results)}\n", format_table(rows, right=range(1, len(rows[0]) - 3)), ""]
    for groups in (language_rows(results), kind_rows(results)):
        if groups:
            lines += [format_table(groups, right=range(2, len(groups[0]))), ""]
    last = [row for row in results.failures if row.legs == "hybrid"][-1:]
    lines += [failed_line(results, row, listed=LISTED_IDS) + "\n" for row in last]
    return "\n".join([*lines, *how_to_read(metric=metric, baseline=baseline)])


def about(results: Results) -> str:
    """Return what was measured on, in one line."""
    chunks = [each.chunks for each in results.indexed.values()]
    span = f"{min(chunks)} to {max(chunks)}" if len(set(chunks)) > 1 else f"{chunks[0]}"
    return (
        f"{results.set}: {results.documents} documents, {span} chunks, "
        f"{len(results.queries)} queries"
    )


def how_to_read(*, metric: str = "", baseline: PipelineConfig | None = None) -> list[str]:
    """Return what the figures of a table are."""
    other = baseline.name if baseline is not None else "the parent row of each"
    return [
        "shares in percent: recall at 1, 5, 10 and 20 chunks; failure, 1 - recall@20; answers that "
        "stand whole in the first 500 to 4000 tokens of what is returned",
        f"difference on {metric or PRIMARY_METRIC} unless noted, in points, against {other}; "
        f"95% interval by paired bootstrap ({RESAMPLES:,} resamples), p by sign flips; "
        "not corrected for the number of rows",
    ]


def few_questions_notes(results: Results) -> list[str]:
    """Return how small a difference can be significant, if there are too few questions."""
    count, needed = len(results.queries), smallest_significant_count()
    lines = []
    if count < needed:
        lines.append(
            f"too few questions to compare rows, {count}: a difference can be significant from "
            f'{needed}; "crx eval init" adds some'
        )
    elif needed / count > MAX_LOSS:
        lines.append(
            f"{count} questions are few: a difference can be significant only if {needed} or more "
            f"of them change, {100 * needed / count:.3g} points of recall if each has one answer"
        )
    groups = {lang: len(each.queries) for lang, each in results.by_language().items()}
    if len(groups) > 1 and needed / min(groups.values()) > MAX_LOSS:
        shares = ", ".join(
            f"{lang or UNNAMED_GROUP} {_points_of(needed, each)}" for lang, each in groups.items()
        )
        lines.append(f"points of recall that {needed} questions are, by language: {shares}")
    return lines


def _points_of(changed: int, questions: int) -> str:
    return f"{100 * changed / questions:.3g}" if questions >= changed else "(too few)"


def recommendation(results: Results, found: Recommendation) -> str:
    """Return the recommendation, or why there is none, in one line."""
    if not found.supported:
        return (
            f"no recommendation: {len(results.queries)} questions are too few: {found.row.name} "
            f"may have up to {100 * found.max_missed:.0f} points of {found.metric} less than the "
            'best row; add questions, for example with "crx eval init"'
        )
    gain, missed = found.gain, found.missed
    line = (
        f"recommended: {found.row.name}, failure {100 * results.failure_rate(found.row):.1f}%, "
        f"{results.mean(found.row, 'ms'):.0f} ms a query"
    )
    if found.row != found.baseline:
        line += f": {found.metric} {_spread(gain)} points against {found.baseline.name}"
        if not gain.significant:
            line += ", not significant"
    if found.row != found.best:
        line += f"; the best, {found.best.name}, has {_spread(missed)} more, not significant"
    return line


def next_steps(results: Results, found: Recommendation) -> list[str]:
    """Return the commands that the recommended row, or a better one, needs."""
    if not found.supported:
        return []
    lines = []
    source = parse_contexts(found.row.contexts).source
    if source:
        lines.append(f'its contexts: "crx contextualize --with SOURCE", or "crx import {source}"')
    elif parse_contexts(found.best.contexts).source:
        lines.append('"crx plan PATH..." estimates the cost of contexts by a model')
    return lines


def table_rows(
    results: Results, *, metric: str = "", baseline: PipelineConfig | None = None
) -> list[list[str]]:
    """Return the table's head and rows; the last three columns are texts."""
    head = ["", *(f"@{k}" for k in SHOWN_KS), "failure", "MRR", "nDCG@10"]
    head += [f"{budget}t" for budget in BUDGETS]
    head += ["ms", "indexing", "difference", "p", "against"]
    rows = [
        _row(results, row, results.compare_row(row, metric=metric, baseline=baseline))
        for row in results.rows
    ]
    return [head, *rows]


def failed_line(results: Results, row: PipelineConfig, *, listed: int = 0) -> str:
    """Return how many questions of a row failed, and the ids of the first ones."""
    count, at = results.count_failed(row), results.failed_at
    first = ", ".join(each.id for each in results.failures[row][:listed])
    more = ", ..." if first and count > listed else ""
    kept = len(results.failures[row])
    if not listed and count > kept:
        more = f"; the first {kept} are listed"
    chunks = "chunk" if at == 1 else f"{at} chunks"
    return (
        f"{row.name}: {count} of {len(results.queries)} questions lack a gold item in the first "
        f"{chunks}{f': {first}' if first else ''}{more}"
    )


def language_rows(results: Results) -> list[list[str]]:
    """Return the head and rows of the table by language; nothing without several languages."""
    return _group_rows(results, "language", results.by_language())


def kind_rows(results: Results) -> list[list[str]]:
    """Return the head and rows of the table by kind of question; nothing without several kinds."""
    return _group_rows(results, "kind", results.by_kind())


def _group_rows(results: Results, name: str, groups: Mapping[str, Results]) -> list[list[str]]:
    if len(groups) < 2:
        return []
    rows = [["", name, "questions", *(f"@{k}" for k in SHOWN_KS), "failure", "MRR"]]
    for row in (row for row in results.rows if row.window == CHUNKS):
        for group, each in groups.items():
            recalls = (f"{100 * each.mean(row, f'recall@{k}'):.1f}" for k in SHOWN_KS)
            rows.append(
                [
                    row.name,
                    group or UNNAMED_GROUP,
                    f"{len(each.queries)}",
                    *recalls,
                    f"{100 * each.failure_rate(row):.1f}",
                    f"{each.mean(row, 'mrr'):.3f}",
                ]
            )
    return rows


def as_object(
    results: Results, *, metric: str = "", baseline: PipelineConfig | None = None
) -> dict[str, object]:
    """Return results as plain objects."""
    return {
        "set": results.set,
        "documents": results.documents,
        "queries": len(results.queries),
        "notes": [*results.notes, *few_questions_notes(results)],
        "languages": _groups(results.by_language()),
        "kinds": _groups(results.by_kind()),
        "indexed": {source: asdict(each) for source, each in results.indexed.items()},
        "rows": [
            {
                "name": row.name,
                **asdict(row),
                "figures": figures(results, row),
                "failed": _failed(results, row),
                "against": _against(results.compare_row(row, metric=metric, baseline=baseline)),
            }
            for row in results.rows
        ],
    }


def _groups(groups: Mapping[str, Results]) -> dict[str, object]:
    return {
        group or UNNAMED_GROUP: {
            "queries": len(each.queries),
            "rows": [{"name": row.name, "figures": figures(each, row)} for row in each.rows],
        }
        for group, each in groups.items()
    }


def figures(results: Results, row: PipelineConfig) -> dict[str, float]:
    """Return the means of a row, by metric."""
    names = (*(f"recall@{k}" for k in SHOWN_KS), "mrr", "ndcg@10", *WHOLE, "tokens")
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


def _row(results: Results, row: PipelineConfig, against: Comparison | None) -> list[str]:
    return [
        row.name,
        *(f"{100 * results.mean(row, f'recall@{k}'):.1f}" for k in SHOWN_KS),
        f"{100 * results.failure_rate(row):.1f}",
        f"{results.mean(row, 'mrr'):.3f}",
        f"{results.mean(row, 'ndcg@10'):.3f}",
        *(f"{100 * results.mean(row, name):.1f}" for name in WHOLE),
        f"{results.mean(row, 'ms'):.1f}",
        _minutes(results.indexed[row.contexts]),
        *_compared(against),
    ]


def _compared(against: Comparison | None) -> list[str]:
    if against is None:
        return ["", "", ""]
    found = against.difference
    on = "" if against.metric == PRIMARY_METRIC else f", {against.metric}"
    return [
        _spread(found),
        probability(found.p),
        against.row.name + on,
    ]


def _spread(found: Difference) -> str:
    return f"{points(found.mean)} [{points(found.low)}, {points(found.high)}]"


def _minutes(indexed: IndexingStats) -> str:
    """Return how long indexing took; an index that was there says nothing of that."""
    return f"{indexed.seconds / 60:.1f} min" if indexed.embedded else "kept"


def _failed(results: Results, row: PipelineConfig) -> dict[str, object] | None:
    """Return the failed questions of a row; None if its ranking is that of another row."""
    if row not in results.failures:
        return None
    return {
        "at": results.failed_at,
        "count": results.count_failed(row),
        "questions": [asdict(each) for each in results.failures[row]],
    }


def _against(against: Comparison | None) -> dict[str, object] | None:
    if against is None:
        return None
    return {
        "row": against.row.name,
        "contexts": contexts_name(against.row.contexts),
        "metric": against.metric,
        **asdict(against.difference),
    }
