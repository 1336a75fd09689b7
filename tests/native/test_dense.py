"""The dense leg: the k rows of largest inner product, as the store has them now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from crx._native import Dense, Filter, Store, dense_topk

KEY = bytes(range(32))


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
    assert (keys.dtype.name, scores.dtype.name) == ("int64", "float32")


@pytest.mark.parametrize(
    ("matrix", "query", "message"),
    [
        (np.zeros((2, 3)), np.zeros(3, np.float32), "matrix: not an"),
        (np.zeros((2, 3), np.float32), np.zeros(4, np.float32), "query: 4 values for rows of 3"),
        (np.zeros((2, 3), np.float32), np.full(3, np.nan, np.float32), "query: a value is not"),
        (np.zeros((3, 2), np.float16).T, np.zeros(3, np.float32), "not in C order"),
    ],
)
def test_a_bad_argument_is_named(
    matrix: NDArray[np.generic], query: NDArray[np.float32], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        dense_topk(matrix, query, k=1)


def test_a_mask_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="mask: 3 values for 2 rows"):
        dense_topk(
            np.zeros((2, 3), np.float32),
            np.zeros(3, np.float32),
            k=1,
            mask=np.ones(3, dtype=bool),
        )


# the published rows


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(str(tmp_path / "notes.crx"), write=True, create=True)
    yield store
    store.close()


def put(store: Store, uri: str, rows: list[list[float]], *, lang: str = "en") -> list[int]:
    """Put a document with one chunk a row, and the rows; return the chunks' keys."""
    count = len(rows)
    at = np.arange(count, dtype=np.uint32)
    names = [f"{uri}-{row}".encode() for row in rows]
    doc = store.put_document(
        uri=uri,
        title="",
        lang=lang,
        metadata="{}",
        source_hash=b"h",
        source_size=1,
        source_mtime_ns=1,
        text="x" * count,
        marks="[]",
        layout=np.stack([at, at + 1, at, at + 1, at * 0], axis=1),
        outlines=[""] * count,
        context_keys=[b""] * count,
        vector_keys=names,
    )
    if rows:
        store.put_vectors(names, np.array(rows, dtype=np.float32))
    return store.chunk_keys(doc).tolist()  # type: ignore[no-any-return]


def leg(store: Store, *, write: bool = False, ann_above: int = 100_000) -> Dense:
    folder = f"{store.path}/derived"
    dense = Dense.open(folder, seal_key=KEY, write=write, ann_above=ann_above)
    dense.sync(store)
    return dense


def found(dense: Dense, query: list[float], **options: object) -> list[int]:
    keys, _ = dense.search(np.array(query, dtype=np.float32), **({"k": 9} | options))  # type: ignore[arg-type]
    return keys.tolist()  # type: ignore[no-any-return]


def test_a_row_is_found_as_soon_as_it_is_committed(store: Store) -> None:
    dense = leg(store, write=True)
    assert (len(dense), dense.seq, found(dense, [1, 0])) == (0, 0, [])
    near, far = put(store, "a", [[1, 0], [0, 1]])
    assert dense.sync(store) == 1
    assert (len(dense), dense.seq, dense.exact) == (2, store.seq, True)
    assert found(dense, [1, 0]) == [near, far]
    store.remove_documents(["a"])
    dense.sync(store)
    assert (len(dense), found(dense, [1, 0])) == (0, [])


def test_a_reader_opens_what_the_writer_published(store: Store) -> None:
    keys = put(store, "a", [[1, 0], [0.5, 0.5]]) + put(store, "b", [[0, 1]], lang="fr")
    leg(store, write=True).publish(store)
    dense = Dense.open(f"{store.path}/derived", seal_key=KEY)
    assert dense.sync(store) == 0
    assert found(dense, [1, 0]) == keys
    french = store.select(json.dumps({"lang": "fr"}))
    assert found(dense, [1, 0], only=french) == keys[2:]
    assert dense.faults == []


def test_a_file_that_does_not_match_its_seal_is_named_and_not_used(store: Store) -> None:
    keys = put(store, "a", [[1, 0], [0, 1]])
    leg(store, write=True).publish(store)
    (path,) = Path(store.path, "derived").glob("vectors-*.f16")
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    dense = leg(store)
    assert found(dense, [1, 0]) == keys
    assert dense.faults == [f"{path}: does not match its seal; rows are read from the store"]
    leg(store, write=True)
    assert leg(store).faults == []


def test_only_a_writer_publishes(store: Store) -> None:
    with pytest.raises(ValueError, match="vectors: opened for reading"):
        leg(store).publish(store)


def test_a_query_of_another_model_is_refused(store: Store) -> None:
    put(store, "a", [[1, 0]])
    with pytest.raises(ValueError, match="query: 3 values for rows of 2"):
        found(leg(store), [1, 0, 0])


def test_a_seal_key_has_32_bytes(store: Store) -> None:
    with pytest.raises(ValueError, match="seal_key: 5 bytes; a key has 32"):
        Dense.open(store.path, seal_key=b"short")


Spreads: TypeAlias = tuple[list[float], list[float], int]


def spread(dense: Dense, queries: object, **options: Filter) -> Spreads:
    found = dense.spread(np.array(queries, np.float32), **options)
    assert found is not None
    highest, mean, rows = found
    return highest.tolist(), mean.tolist(), rows


def test_a_spread_is_the_highest_score_and_the_mean_of_all_rows(store: Store) -> None:
    put(store, "a", [[3, 0], [0, 1]])
    put(store, "b", [[0, -1]])
    dense = leg(store)
    assert spread(dense, [[1, 0], [0, 2], [0, 0]]) == ([3, 2, 0], [1, 0, 0], 3)
    of_a = store.select('{"uri": "a"}')
    assert spread(dense, [[1, 0]], only=of_a) == ([3], [1.5], 2)


def test_the_spread_of_many_rows_is_that_of_their_scores(store: Store) -> None:
    rng = np.random.default_rng(0)
    put(store, "a", rng.standard_normal((300, 70)).astype(np.float32).tolist())
    dense = leg(store, write=True)
    dense.publish(store)
    queries = rng.standard_normal((6, 70)).astype(np.float32)
    scores = [dense.search(query, k=300)[1] for query in queries]
    highest, mean, rows = spread(dense, queries)
    assert highest == [each.max() for each in scores]
    assert mean == pytest.approx([each.mean() for each in scores], abs=1e-5)
    assert rows == 300


def test_without_rows_a_mean_is_zero_and_with_a_graph_there_is_no_spread(store: Store) -> None:
    assert spread(leg(store), np.ones((2, 4))) == ([-np.inf, -np.inf], [0, 0], 0)
    rows = np.random.default_rng(0).standard_normal((400, 4)).astype(np.float32)
    put(store, "a", rows.tolist())
    dense = leg(store, write=True, ann_above=100)
    dense.publish(store)
    assert not dense.exact
    assert dense.spread(np.ones((2, 4), np.float32)) is None


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (np.zeros((2, 3), np.float32), "query: 3 values for rows of 2"),
        (np.full((1, 2), np.nan, np.float32), "query: a value is not finite"),
        (np.zeros((3, 2), np.float32).T, "queries: not"),
    ],
)
def test_a_bad_batch_is_named(store: Store, queries: NDArray[np.float32], message: str) -> None:
    put(store, "a", [[1, 0]])
    with pytest.raises(ValueError, match=message):
        leg(store).spread(queries)
