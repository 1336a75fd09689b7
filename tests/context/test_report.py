"""Contexts counted by status and reason."""

from __future__ import annotations

import pytest

from crx._context.report import ContextReport, OutcomeCounts, compute_coverage
from crx.errors import ModelError

MADE = {"ok": 5, "retried": 1, "rejected:refusal": 1, "rejected:no content": 3, "failed:lost": 2}


def test_outcomes_are_counted_by_status_and_reason() -> None:
    counts = OutcomeCounts.from_made(MADE)
    assert (counts.total, counts.accepted, counts.count("rejected")) == (12, 6, 4)
    assert list(counts.reasons("rejected").items()) == [("no content", 3), ("refusal", 1)]


def test_the_share_of_rejected_contexts_is_of_those_that_were_answered() -> None:
    described = OutcomeCounts.from_made(MADE).describe_rejected()
    assert described == "40.0% of 10 contexts rejected: no content 3, refusal 1"
    assert OutcomeCounts.from_made({"ok": 3}).describe_rejected() == ""


def test_outcomes_of_an_index_are_read_from_its_statistics() -> None:
    stats = {"chunks": 8, "documents": 2, "outcome:ok": 2, "outcome:rejected:empty": 6}
    assert OutcomeCounts.from_stats(stats).counts == {("ok", ""): 2, ("rejected", "empty"): 6}
    assert compute_coverage(stats) == 0.25


def test_coverage_below_a_minimum_is_an_error() -> None:
    report = ContextReport(MADE, kept={}, embedded=6, coverage=0.5, chunks=12, seconds=1.0)
    report.require(0.5)
    with pytest.raises(ModelError, match=r"50.0% of the chunks have a context, less than 60.0%"):
        report.require(0.6)
