"""Globs on paths, by the rules of the store's filters."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx.ingest.paths import compile_glob
from crx_engines.postgres.glob_expression import glob_expression

# Patterns, the paths that they match, and those that they do not.
GLOBS: list[tuple[str, list[str], list[str]]] = [
    ("docs/*.md", ["docs/a.md"], ["docs/a/b.md"]),
    ("docs/**", ["docs/a/b.md"], ["doc"]),
    ("docs/**/b.md", ["docs/b.md", "docs/x/y/b.md"], ["docs/xb.md"]),
    ("**/b.md", ["b.md", "/a/b.md"], ["ab.md"]),
    ("a**z", ["a/b/z", "az"], ["a/b"]),
    ("?.md", ["é.md"], ["/.md", "ab.md"]),
    ("[a-c]x", ["bx"], ["dx"]),
    ("[!a-c]x", ["dx"], ["bx", "/x"]),
    ("[^a]x", ["bx"], ["ax"]),
    ("[]]", ["]"], ["a"]),
    ("[a-]", ["-"], ["b"]),
    ("*", ["", "a"], ["a/b"]),
    ("", [""], ["a"]),
    ("a+(b", ["a+(b"], ["aa(b"]),
    ("a\nb*", ["a\nbc"], ["a"]),
]


@pytest.mark.parametrize(("pattern", "matching", "others"), GLOBS)
def test_a_glob_matches_as_a_filter_of_the_store(
    pattern: str, matching: list[str], others: list[str]
) -> None:
    glob = compile_glob(pattern)
    assert [path for path in matching + others if glob.matches(path)] == matching


@pytest.mark.parametrize("pattern", ["*a" * 400, "**" * 500, "*" * 1000, "**/" * 300 + "b"])
def test_a_glob_takes_time_in_proportion_to_its_length(pattern: str) -> None:
    started = time.process_time()
    assert not compile_glob(f"{pattern[:999]}z").matches("a" * 4000)
    assert time.process_time() - started < 1


@pytest.mark.filterwarnings("ignore::FutureWarning")  # classes of both readings
@given(st.text("ab*?[]!-/", max_size=12), st.text("ab-/", max_size=12))
def test_a_glob_matches_as_its_regular_expression(pattern: str, path: str) -> None:
    try:
        glob = compile_glob(pattern)
        expression = re.compile(glob_expression(pattern), re.DOTALL)
    except (ValueError, re.error):  # an open class, or a range that descends
        return
    assert glob.matches(path) == bool(expression.fullmatch(path))


def test_a_long_glob_is_an_error() -> None:
    with pytest.raises(ValueError, match="more than 1000 characters"):
        compile_glob("a" * 1001)


def test_a_glob_with_an_open_class_is_an_error() -> None:
    with pytest.raises(ValueError, match=re.escape('"a[b": a "[" has no "]"')):
        compile_glob("a[b")
