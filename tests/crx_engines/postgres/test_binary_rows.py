"""Rows in binary are stored as rows in SQL are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crx_engines.postgres.binary_rows import (
    encode_bigint,
    encode_half_vector,
    encode_integer,
    encode_integers,
    rows_of_fields,
    rows_of_numbers,
)
from crx_engines.postgres.connection import Connection, parse_addresses


def test_rows_of_each_type_are_those_of_an_insert(new_database: Callable[[], str]) -> None:
    connection = Connection(parse_addresses(new_database())[0])
    connection.run_script(
        "CREATE EXTENSION vector SCHEMA public; CREATE TEMPORARY TABLE copied "
        "(a bigint, b integer, c text, d bytea, e integer[], f public.halfvec)"
    )
    rows = [
        (
            encode_bigint(-(2**40)),
            encode_integer(7),
            "寺庙".encode(),
            b"\0",
            encode_integers([3, -1]),
            encode_half_vector(np.array([0.5, -2], np.float16)),
        ),
        (encode_bigint(1), encode_integer(-7), b"", None, encode_integers([]), None),
    ]
    connection.copy_rows("copied", rows_of_fields(rows))
    found = connection.run("SELECT a, b, c, d, e, f::text FROM copied")
    connection.close()
    assert found == [
        [-(2**40), 7, "寺庙", b"\0", [3, -1], "[0.5,-2]"],
        [1, -7, "", None, [], None],
    ]


def test_columns_of_numbers_have_the_width_of_their_dtype(new_database: Callable[[], str]) -> None:
    connection = Connection(parse_addresses(new_database())[0])
    connection.run_script("CREATE TEMPORARY TABLE copied (a bigint, b integer, c smallint)")
    columns = [np.array([2**40, -1]), np.array([-5, 6], np.int32), np.array([7, -8], np.int16)]
    connection.copy_rows("copied", rows_of_numbers(columns))
    found = connection.run("SELECT * FROM copied")
    connection.close()
    assert found == [[2**40, -5, 7], [-1, 6, -8]]
