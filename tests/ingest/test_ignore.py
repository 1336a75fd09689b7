"""Ignore files: the meaning of their patterns, and what is no ignore file."""

from __future__ import annotations

import os
import re
import subprocess
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


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a file that is ignored by each of the ways that git has."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / ".config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    top = tmp_path / "repository"
    (tmp_path / "home").mkdir()
    git(tmp_path, "init", "-q", str(top))
    for name in ("kept.md", "info.md", "own.md", "user.md", "marked.md"):
        (top / name).write_text("text")
    (top / ".git" / "info" / "exclude").write_text("info.md\n")
    (top / ".gitignore").write_bytes(b"\xef\xbb\xbfmarked.md\n")
    return top


def git(folder: Path, *words: str) -> str:
    run = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return run.stdout


def assert_same_as_git(top: Path) -> None:
    """Compare the files that are found with those that git lists."""
    listed = git(top, "ls-files", "-co", "--exclude-standard").split()
    found = discover([Root.at(top)])
    assert not found.unreachable
    names = {str(file.path.relative_to(top)) for file in found.files}
    assert names == {name for name in listed if not name.startswith(".")}


@pytest.mark.parametrize("name", [".gitconfig", ".config/git/config", ".config/git/ignore"])
def test_what_git_ignores_by_the_configuration_of_the_user_is_left_out(
    repository: Path, tmp_path: Path, name: str
) -> None:
    patterns = tmp_path / "home" / "patterns"
    config = tmp_path / "home" / name
    config.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith("ignore"):
        config.write_text("user.md\n")
    else:
        patterns.write_text("user.md\n")
        (tmp_path / "dotfiles").write_text(
            '[user]\n\texcludesFile = no\n[core]\n\tExcludesFile = "~/patterns" ; mine\n'
        )
        config.symlink_to(tmp_path / "dotfiles")
    assert_same_as_git(repository)
    assert not any(file.path.name == "user.md" for file in discover([Root.at(repository)]).files)


def test_the_configuration_of_a_repository_counts_for_its_worktrees(
    repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "patterns").write_text("own.md\n")
    git(repository, "config", "core.excludesFile", str(tmp_path / "patterns"))
    assert_same_as_git(repository)
    git(
        repository, "-c", "user.name=a", "-c", "user.email=b", "commit", "--allow-empty", "-qm", "c"
    )
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    for name in ("kept.md", "info.md", "own.md"):
        (tmp_path / "tree" / name).write_text("text")
    assert_same_as_git(tmp_path / "tree")
    assert [file.path.name for file in discover([Root.at(tmp_path / "tree")]).files] == ["kept.md"]


@pytest.mark.parametrize("named", ["/dev/null", "/", "/missing", "", "PIPE"])
def test_what_a_repository_names_is_read_only_if_it_is_a_file(
    repository: Path, tmp_path: Path, named: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "home" / ".config" / "git").mkdir(parents=True)
    (tmp_path / "home" / ".config" / "git" / "ignore").write_text("user.md\n")
    path = named.replace("PIPE", str(tmp_path / "pipe"))
    git(repository, "config", "core.excludesFile", path)
    found = discover([Root.at(repository)])
    assert not found.unreachable
    # An empty name is none, also not that of the user.
    names = {file.path.name for file in found.files}
    assert names == {"kept.md", "own.md", "user.md"}


@pytest.mark.parametrize("name", ["config", "info/exclude"])
def test_links_within_git_are_followed(repository: Path, tmp_path: Path, name: str) -> None:
    """As in a work tree made by `git-new-workdir`."""
    (repository / ".git" / name).rename(tmp_path / "elsewhere")
    (repository / ".git" / name).symlink_to(tmp_path / "elsewhere")
    assert_same_as_git(repository)


def test_a_configuration_that_is_no_file_names_nothing(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    assert_same_as_git(repository)


@pytest.mark.parametrize("text", ["", "gitdir:", "gitdir: /missing", "gitdir: \0", "no"])
def test_a_damaged_git_file_ignores_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    (tmp_path / "a.md").write_text("text")
    assert [file.path.name for file in discover([Root.at(tmp_path)]).files] == ["a.md"]
