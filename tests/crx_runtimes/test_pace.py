"""Costs of a model's steps, fitted to timed steps."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx._services.compute_usage import ComputeUsage, Pace
from crx_runtimes.pace import Work, seconds_of

COSTS = st.floats(0, 10)
Cost = Callable[[int, int], float]


def paced(cost: Cost, *, seed: int = 0, depth: int = 1500) -> Pace:
    """Return the pace of a prompt read in steps of 512 tokens, and of twelve prompts behind it."""
    chance, pace, at = random.Random(seed), Pace(), 0
    sizes = [512] * (depth // 512) + [chance.randrange(64, 512) for _ in range(12)]
    for tokens in sizes:
        cells = tokens * at + tokens * tokens // 2
        pace.add_step(tokens, cells, cost(tokens, cells))
        at = min(depth, at + tokens)
    return pace


@given(COSTS, COSTS, COSTS)
def test_the_costs_of_a_step_a_token_and_a_cell_are_separated(
    step: float, token: float, cell: float
) -> None:
    pace = paced(lambda tokens, cells: step + token * tokens + cell * cells / 1000)
    deep = Work(20, 10_000, 10_000 * 5000)
    truth = step * deep.steps + token * deep.tokens + cell * deep.cells / 1000
    assert seconds_of(pace, deep) == pytest.approx(truth, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_steps_three_times_as_deep_are_estimated_from_noisy_ones(seed: int) -> None:
    chance = random.Random(seed)

    def cost(tokens: int, cells: int) -> float:
        return (0.004 * tokens + 2e-6 * cells) * chance.uniform(0.95, 1.05)

    deep = Work(10, 5000, 5000 * 4500)
    estimated = seconds_of(paced(cost, seed=seed), deep)
    assert estimated == pytest.approx(0.004 * deep.tokens + 2e-6 * deep.cells, rel=0.25)
    by_tokens_alone = paced(cost, seed=seed)
    assert by_tokens_alone.seconds / by_tokens_alone.tokens * deep.tokens < 0.75 * estimated


def test_no_cost_is_negative() -> None:
    pace = paced(lambda tokens, cells: 1 / (1 + tokens))
    for work in (Work(1, 0, 0), Work(0, 1, 0), Work(0, 0, 1)):
        assert seconds_of(pace, work) >= 0


def test_equal_steps_predict_equal_steps() -> None:
    pace = Pace()
    for _ in range(5):
        pace.add_step(8, 8 * 4000, 0.3)
    assert seconds_of(pace, Work(10, 80, 80 * 4000)) == pytest.approx(3)


def test_no_recorded_step_predicts_zero_seconds() -> None:
    assert seconds_of(Pace(), Work(1, 2, 3)) == 0


def test_usage_is_added_and_survives_a_round_trip() -> None:
    used = ComputeUsage(
        prompt=10, prefilled=4, answers=1, answered=3, prefill=paced(lambda *_: 0.5)
    )
    both = used + ComputeUsage(prompt=1, restarts=2)
    assert (both.prompt, both.reused, both.restarts, both.seconds) == (11, 7, 2, used.seconds)
    assert (
        ComputeUsage.from_dict({"prompt": 10, "prefill": {"steps": 1, "seconds": 2.5}}).seconds
        == 2.5
    )
    with pytest.raises(TypeError):
        ComputeUsage.from_dict({"nothing": 1})
