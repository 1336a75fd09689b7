"""Validation of the arguments of a search, in Python and on the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import crx

HUGE = 10**21


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arguments") / "notes.crx"
    with crx.open(folder, settings={"embedder": "hashed"}) as index:
        index.add_documents([crx.Document("whales", "The blue whale eats krill.")])
    return folder


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (None, "the query must be text, not NoneType"),
        (b"whale", "the query must be text, not bytes"),
        (" ", "the query is empty"),
        ("wh\udce4le", "the query is not valid UTF-8"),
    ],
)
def test_a_query_that_is_no_text_is_a_usage_error(folder: Path, query: Any, message: str) -> None:
    with crx.open(folder) as index:
        for call in (index.search, index.prompt):
            with pytest.raises(ValueError, match=message):
                call(query)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k must be at least 1, not 0"),
        ({"k": HUGE}, f"k must be at most 2147483647, not {HUGE}"),
        ({"k": 2.5}, "k must be a whole number, not 2.5"),
        ({"window": -1}, "window must be at least 0, not -1"),
        ({"window": HUGE}, "window must be at most 2147483647"),
        ({"window": "wide"}, 'window must be "auto", "grow" or a number, not \'wide\''),
        ({"budget_tokens": 0}, "budget_tokens must be at least 1, not 0"),
        ({"budget_tokens": HUGE}, "budget_tokens must be at most 2147483647"),
        ({"legs": ("foo",)}, "'foo': no such leg; use bm25, dense"),
        ({"legs": ()}, "legs must be a sequence of one or more of bm25, dense"),
        ({"legs": "bm25"}, "legs must be a sequence of one or more of bm25, dense"),
        ({"where": ["lang"]}, "where must map fields to conditions, not list"),
        ({"where": {"lang": "\udcff"}}, "where holds a value that JSON has no form for"),
        ({"where": {"lang": object()}}, "where holds a value that JSON has no form for"),
    ],
)
def test_an_argument_out_of_range_is_a_usage_error(
    folder: Path, arguments: dict[str, Any], message: str
) -> None:
    with crx.open(folder) as index, pytest.raises(ValueError, match=message):
        index.search("whale", **arguments)


def test_the_largest_counts_are_accepted(folder: Path) -> None:
    with crx.open(folder) as index:
        assert len(index.search("whale", k=2**31 - 1, budget_tokens=2**31 - 1)) == 1
        assert len(index.search("whale", window=2**31 - 1)) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([b"wh\xe4le"], "the query is not valid UTF-8"),
        (["whale", "-k", str(HUGE)], "k must be at most 2147483647"),
        (["whale", "--window", "9" * 20], "window must be at most 2147483647"),
        (["whale", "--window", "9" * 5000], "want auto, grow or a number of chunks"),
        (["whale", "--where", b"lang=\xff"], "where holds a value that JSON has no form for"),
    ],
)
def test_the_command_line_exits_with_2_and_one_line(
    folder: Path, arguments: list[str | bytes], message: str
) -> None:
    command = [sys.executable, "-m", "crx", "search", "--index", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, env=os.environ, check=False)
    error = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b""), error
    assert error.startswith("crx: ")
    assert error.count("\n") == 1
    assert message in error
