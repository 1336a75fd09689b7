"""Tokens that would continue a loop."""

from __future__ import annotations

import pytest

from crx_runtimes.llama.loops import SPAN, looping_tokens


@pytest.mark.parametrize(
    ("tokens", "looping"),
    [
        ([], set()),
        ([1, 2, 3], set()),
        ([1, 2, 3, 4, 1, 2], set()),
        ([1, 2, 3, 4, 1, 2, 3], {4}),
        ([1, 2, 3, 4, 1, 2, 3, 5, 1, 2, 3], {4, 5}),
        ([7, 7, 7], set()),
        ([7, 7, 7, 7], {7}),
        ([1, 2, 3, 4, *range(10, 10 + SPAN), 1, 2, 3], set()),
    ],
)
def test_a_token_continues_a_loop_if_it_followed_the_same_run_shortly_before(
    tokens: list[int], looping: set[int]
) -> None:
    assert looping_tokens(tokens, run=3) == looping
