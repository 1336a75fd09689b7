"""Pairs of rows of two saved runs, and the rows that have no counterpart."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from crx.errors import UsageError
from crx_evaluate.pipeline_config import PipelineConfig
from crx_evaluate.results import Results


@dataclass(frozen=True, slots=True)
class RowPairs:
    """The rows of two runs that are compared, and the names of those that only one run has."""

    pairs: tuple[tuple[PipelineConfig, PipelineConfig], ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


def pair_rows(first: Results, second: Results) -> RowPairs:
    """Pair the rows of two runs by name.

    If no name agrees and each run has one source of contexts, rows are paired by their legs,
    reranker and window. Raises `UsageError`, with the names, if no row can be paired.
    """
    pairs = _pair_by(lambda row: row.name, first.rows, second.rows)
    if not pairs and len(first.indexed) == len(second.indexed) == 1:
        pairs = _pair_by(lambda row: (row.legs, row.rerank, row.window), first.rows, second.rows)
    if not pairs:
        raise UsageError(
            f"the runs share no row; name one of each with --row and --with-row: A has "
            f"{_names(first)}; B has {_names(second)}"
        )
    ones, others = zip(*pairs, strict=True)
    return RowPairs(
        tuple(pairs),
        tuple(row.name for row in first.rows if row not in ones),
        tuple(row.name for row in second.rows if row not in others),
    )


def name_pair(first: Results, second: Results, row: str, other: str) -> RowPairs:
    """Return the pair of a row of the first run and one of the second, by name."""
    return RowPairs(((first.find_row(row), second.find_row(other)),), (), ())


def _pair_by(
    key: Callable[[PipelineConfig], Hashable],
    first: Sequence[PipelineConfig],
    second: Sequence[PipelineConfig],
) -> list[tuple[PipelineConfig, PipelineConfig]]:
    """Pair rows of equal keys; a key that several rows of a run have pairs none."""
    ones, others = [key(row) for row in first], [key(row) for row in second]
    return [
        (row, second[others.index(each)])
        for row, each in zip(first, ones, strict=True)
        if ones.count(each) == others.count(each) == 1
    ]


def _names(results: Results) -> str:
    return ", ".join(row.name for row in results.rows)
