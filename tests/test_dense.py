"""The exact scan: the k rows of largest inner product, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from crx._native import dense_topk


def by_sorting(
    matrix: NDArray[np.generic], query: NDArray[np.float32], k: int, mask: NDArray[np.bool_]
) -> list[int]:
    products = matrix.astype(np.float32) @ query
    return [row for row in np.lexsort((np.arange(len(matrix)), -products)) if mask[row]][:k]


# Small whole numbers: every sum is exact, whatever its order, and many are equal.
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@given(data=st.data(), rows=st.integers(0, 60), dim=st.integers(1, 70), k=st.integers(0, 70))
def test_it_finds_what_sorting_all_products_finds(
    dtype: type[np.generic], data: st.DataObject, rows: int, dim: int, k: int
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    matrix = rng.integers(-3, 4, (rows, dim)).astype(dtype)
    query = rng.integers(-3, 4, dim).astype(np.float32)
    mask = rng.random(rows) < 0.7
    keys, scores = dense_topk(matrix, query, k=k, mask=mask)
    assert keys.tolist() == by_sorting(matrix, query, k, mask)
    assert scores.tolist() == (matrix[keys].astype(np.float32) @ query).tolist()


def test_a_large_matrix_is_scanned_in_parallel_to_the_same_end() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.integers(-9, 10, (30_000, 40)).astype(np.float16)
    query = rng.integers(-9, 10, 40).astype(np.float32)
    keys, scores = dense_topk(matrix, query, k=500)
    assert keys.tolist() == by_sorting(matrix, query, 500, np.ones(30_000, dtype=bool))
    assert (keys.dtype, scores.dtype) == (np.int64, np.float32)


@pytest.mark.parametrize(
    ("matrix", "query", "message"),
    [
        (np.zeros((2, 3)), np.zeros(3, np.float32), "matrix: not an"),
        (np.zeros((2, 3), np.float32), np.zeros(4, np.float32), "query: 4 values for rows of 3"),
        (np.zeros((2, 3), np.float32), np.full(3, np.nan, np.float32), "query: not finite"),
        (np.zeros((3, 2), np.float16).T, np.zeros(3, np.float32), "not in C order"),
    ],
)
def test_a_bad_argument_is_named(
    matrix: NDArray[np.generic], query: NDArray[np.float32], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        dense_topk(matrix, query, k=1)


def test_a_mask_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="mask: not one value for each of 2 rows"):
        dense_topk(
            np.zeros((2, 3), np.float32),
            np.zeros(3, np.float32),
            k=1,
            mask=np.ones(3, dtype=bool),
        )
