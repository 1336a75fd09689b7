"""Assignments of batches: balanced, bounded, and none is lost with its worker."""

from __future__ import annotations

import pytest

from crx.ingest.embed import Situated
from crx.ingest.embedding_pool import TextBatch, TextsLost
from crx.workers.assignments import BATCHES_AHEAD, CHARS_AHEAD, MAX_LOSSES, Assignments


def batch(*names: str, chars: int = 10) -> TextBatch:
    keys = [name.encode() for name in names]
    return TextBatch(keys, [Situated("", name.ljust(chars)) for name in names])


def assign_all(assignments: Assignments) -> list[tuple[int, list[str]]]:
    assigned = []
    while (each := assignments.assign()) is not None:
        worker, given = each
        assigned.append((worker, [key.decode() for key in given.keys]))
    return assigned


def test_a_batch_goes_to_the_worker_with_the_least_text() -> None:
    assignments = Assignments()
    assignments.join(0)
    assignments.join(1)
    for name, chars in (("a", 30), ("b", 10), ("c", 10), ("d", 20)):
        assignments.submit(batch(name, chars=chars))
    assert assign_all(assignments) == [(0, ["a"]), (1, ["b"]), (1, ["c"]), (1, ["d"])]


def test_a_worker_is_given_a_bounded_number_of_batches_and_characters() -> None:
    assignments = Assignments()
    assignments.join(0)
    for number in range(BATCHES_AHEAD + 3):
        assignments.submit(batch(str(number)))
    assert len(assign_all(assignments)) == BATCHES_AHEAD
    assert len(assignments) == BATCHES_AHEAD + 3
    assignments.finish(0)
    assert len(assign_all(assignments)) == 1


def test_a_text_beyond_the_bound_goes_to_a_worker_that_has_nothing() -> None:
    assignments = Assignments()
    assignments.join(0)
    assignments.submit(batch("long", chars=2 * CHARS_AHEAD))
    assignments.submit(batch("short"))
    assert assign_all(assignments) == [(0, ["long"])]


def test_the_texts_at_which_a_worker_was_lost_are_assigned_one_by_one_and_first() -> None:
    assignments = Assignments()
    assignments.join(0)
    for names in (("a", "b"), ("c", "d"), ("e", "f")):
        assignments.submit(batch(*names))
    assign_all(assignments)
    assert [key.decode() for key in assignments.finish(0).keys] == ["a", "b"]
    assignments.lose(0, "killed")
    assignments.join(1)
    assert assign_all(assignments) == [(1, ["c"]), (1, ["d"]), (1, ["e", "f"])]


def test_a_text_at_which_workers_are_lost_repeatedly_is_named() -> None:
    assignments = Assignments()
    assignments.submit(batch("a", "b"))
    for worker in range(MAX_LOSSES - 1):
        assignments.join(worker)
        assign_all(assignments)
        assignments.lose(worker, "killed")
    assignments.join(MAX_LOSSES)
    assign_all(assignments)
    with pytest.raises(
        TextsLost, match="3 workers were lost at this text, the last one killed"
    ) as e:
        assignments.lose(MAX_LOSSES, "killed")
    assert e.value.keys == [b"a"]


def test_workers_that_are_lost_without_work_cost_nothing() -> None:
    assignments = Assignments()
    for worker in range(2 * MAX_LOSSES):
        assignments.join(worker)
        assignments.lose(worker, "killed")
    assert len(assignments) == 0
