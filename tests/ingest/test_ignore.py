"""Ignore files: the meaning of their patterns, and what is no ignore file."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from crx import _native
from crx.ingest.discover import Discovery, Root, discover
from crx.ingest.ignore import FolderPatterns

LINES = st.text("ab*?!/\\\\#[]- ", max_size=8)
NAMES = st.text("ab#! -", min_size=1, max_size=4).filter(lambda name: name.strip() == name)
PATHS = st.builds(
    lambda names, end: "/".join(names) + end,
    st.lists(NAMES, min_size=1, max_size=3),
    st.sampled_from(("", "/")),
)
# What Git does otherwise than pathspec: a class matches no slash, and an invalid pattern is no
# error.
_NEGATED = re.compile(r"\[[!^]")


@pytest.mark.filterwarnings("ignore::FutureWarning")  # classes of both readings
@given(st.lists(LINES, min_size=1, max_size=3), PATHS)
def test_patterns_match_as_those_of_pathspec(lines: list[str], path: str) -> None:
    try:
        expected = GitIgnoreSpec.from_lines(lines).check_file(path).include
    except (ValueError, re.error):
        return
    if not any(map(_NEGATED.search, lines)):
        assert _native.IgnorePatterns(lines).check(path) == expected


def test_a_hostile_pattern_takes_time_in_proportion_to_its_length(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a" * 14 + "*b\n" + "*a" * 400 + "b\n")
    (tmp_path / ("a" * 250)).write_text("kept")
    started = time.process_time()
    found = discover([Root.at(tmp_path)])
    assert time.process_time() - started < 1
    assert [file.path.name for file in found.files] == ["a" * 250]


def reasons(found: Discovery) -> list[str]:
    return [failure.reason for failure in found.unreachable]


@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".crxignore"])
def test_an_ignore_file_that_is_a_pipe_is_not_read(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert reasons(discover([Root.at(tmp_path)])) == [f"{name}: is not a file"]


def test_an_ignore_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").symlink_to("/dev/zero")
    expected = [".gitignore: is a link; links are not followed"]
    assert reasons(discover([Root.at(tmp_path)])) == expected


def test_a_large_ignore_file_and_a_long_line_are_named(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("a\n" * 500_001)
    expected = [".gitignore: has more than 1,000,000 bytes"]
    assert reasons(discover([Root.at(tmp_path)])) == expected
    (tmp_path / ".gitignore").write_text("a\n" + "b" * 1001)
    expected = [".gitignore: line 2 has more than 1,000 characters"]
    assert reasons(discover([Root.at(tmp_path)])) == expected


def test_an_invalid_pattern_matches_nothing(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("a\\\n!\n[z-a]\na[\n//\nb.md\n")
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("text")
    assert [file.path.name for file in discover([Root.at(tmp_path)]).files] == ["a.md"]


def test_a_name_that_is_not_utf8_is_matched(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    (tmp_path / ".gitignore").write_bytes(b"caf\xe9.md\n")
    for name in (b"caf\xe9.md", b"the\xe9.md"):
        Path(os.fsdecode(os.path.join(folder, name))).write_text("text")
    found = discover([Root.at(tmp_path)])
    assert [os.fsencode(file.path.name) for file in found.files] == [b"the\xe9.md"]


def test_a_hostile_setting_of_skipped_folders_takes_no_time() -> None:
    patterns = FolderPatterns.parse("*a" * 400 + "b")
    started = time.process_time()
    assert patterns.match("a" * 250, inside=(), beside=()) == ""
    assert time.process_time() - started < 1
