"""Globs on paths, by the rules of the store's filters."""

from __future__ import annotations

import re

import pytest

from crx.ingest.path_filter import compile_glob

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
    assert [path for path in matching + others if glob.fullmatch(path)] == matching


def test_a_glob_with_an_open_class_is_an_error() -> None:
    with pytest.raises(ValueError, match=re.escape('"a[b": a "[" has no "]"')):
        compile_glob("a[b")
