"""Counts of lines, and when a second try pays."""

from __future__ import annotations

import pytest

from crx_contexts.chunk_groups import LineCounts


@pytest.mark.parametrize(
    ("second", "accepted", "pays"),
    [(0, 0, "yes"), (29, 0, "yes"), (30, 0, "no"), (30, 5, "no"), (30, 6, "yes"), (300, 59, "no")],
)
def test_second_tries_end_when_fewer_than_one_in_five_of_thirty_is_accepted(
    second: int, accepted: int, pays: str
) -> None:
    assert LineCounts(second=second, accepted=accepted).second_try_pays is (pays == "yes")


@pytest.mark.parametrize(
    ("counts", "tries"),
    [
        (LineCounts(), 0),
        (LineCounts(first=12, rejected=6), 100),
        (LineCounts(first=12, rejected=6, second=6, accepted=2), 100),
        (LineCounts(first=12, rejected=6, second=6, accepted=1), 30),
        (LineCounts(first=100, rejected=10, second=10), 20),
    ],
)
def test_second_tries_of_a_run_are_estimated_from_the_shares_so_far(
    counts: LineCounts, tries: float
) -> None:
    assert counts.estimate_second_tries(200) == tries
