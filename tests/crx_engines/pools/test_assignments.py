"""Assignments of tasks: balanced, bounded, and none is lost with its worker."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from crx_engines.pools.assignments import CHARS_AHEAD, Assignments

AHEAD = 3


@dataclass(frozen=True)
class Note:
    """A task."""

    name: str
    chars: int = 10


@pytest.fixture
def assignments() -> Assignments[Note]:
    return Assignments(ahead=AHEAD)


def assign_all(assignments: Assignments[Note]) -> list[tuple[int, str]]:
    assigned = []
    while (each := assignments.assign()) is not None:
        worker, task = each
        assigned.append((worker, task.name))
    return assigned


def test_a_task_goes_to_the_worker_with_the_least_text(assignments: Assignments[Note]) -> None:
    assignments.join(0)
    assignments.join(1)
    for name, chars in (("a", 30), ("b", 10), ("c", 10), ("d", 20)):
        assignments.submit(Note(name, chars))
    assert assign_all(assignments) == [(0, "a"), (1, "b"), (1, "c"), (1, "d")]


def test_a_worker_is_given_a_bounded_number_of_tasks(assignments: Assignments[Note]) -> None:
    assignments.join(0)
    for number in range(AHEAD + 3):
        assignments.submit(Note(str(number)))
    assert len(assign_all(assignments)) == AHEAD
    assert len(assignments) == AHEAD + 3
    assert assignments.first(0) == assignments.finish(0) == Note("0")
    assert len(assign_all(assignments)) == 1


def test_a_text_beyond_the_bound_goes_to_a_worker_that_has_nothing(
    assignments: Assignments[Note],
) -> None:
    assignments.join(0)
    assignments.submit(Note("long", 2 * CHARS_AHEAD))
    assignments.submit(Note("short"))
    assert assign_all(assignments) == [(0, "long")]


def test_the_tasks_of_a_lost_worker_wait_again_before_others(
    assignments: Assignments[Note],
) -> None:
    assignments.join(0)
    for name in ("a", "b", "c", "d"):
        assignments.submit(Note(name))
    assign_all(assignments)
    assert assignments.finish(0) == Note("a")
    assert assignments.lose(0) == Note("b")
    assignments.submit_first([Note("b1"), Note("b2")])
    assignments.join(1)
    assert assign_all(assignments) == [(1, "b1"), (1, "b2"), (1, "c")]


def test_a_worker_that_is_lost_without_work_costs_nothing(assignments: Assignments[Note]) -> None:
    assignments.join(0)
    assert assignments.lose(0) is None
    assert len(assignments) == 0
