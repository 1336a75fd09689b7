"""The share of good and bad contexts that the validator rejects."""

from __future__ import annotations

import pytest
from validation_corpus import judge_contexts, select_contexts, share_rejected

HALVES = pytest.mark.parametrize("held_out", [False, True], ids=["tuned on", "held out"])


@HALVES
def test_at_least_95_percent_of_bad_contexts_are_rejected(*, held_out: bool) -> None:
    bad = select_contexts("bad", held_out=held_out)
    assert share_rejected(bad) >= 0.95, [each.text for each in bad if not each.reason]


@HALVES
def test_at_most_3_percent_of_good_contexts_are_rejected(*, held_out: bool) -> None:
    good = select_contexts("good", held_out=held_out)
    rejected = [(each.reason, each.text) for each in good if each.reason]
    assert share_rejected(good) <= 0.03, rejected


@pytest.mark.parametrize("label", ["good", "bad"])
def test_the_corpus_has_300_contexts_of_each_kind(label: str) -> None:
    assert sum(each.label == label for each in judge_contexts()) >= 300
