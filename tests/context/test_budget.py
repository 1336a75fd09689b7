"""Budgets of a run."""

import pytest

from crx._context.budget import Budget, parse_budget
from crx.errors import UsageError


@pytest.mark.parametrize("text", ["0m", "$0", "20", "m", "-3m", "20 minutes", ""])
def test_a_text_that_is_not_a_budget_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_budget(text)


@pytest.mark.parametrize(
    ("text", "budget"),
    [("20m", Budget(seconds=1200)), ("1h30m", Budget(seconds=5400)), ("$2", Budget(dollars=2))],
)
def test_a_budget_is_a_time_or_dollars(text: str, budget: Budget) -> None:
    assert parse_budget(text) == budget
