"""Queries and names of files that nobody means to type."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import WHALES, Crx


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("krill " * 666 + "end", 0),
        ("k" * 4000, 0),
        ("k", 0),
        ("?!... --- ***", 1),
        ("。", 1),
        ('"', 1),
        ("re:", 2),
    ],
)
def test_a_query_is_answered_in_one_screen_or_with_one_line(
    crx: Crx, indexed: Path, query: str, code: int
) -> None:
    done = crx("search", "--set", "embedder=hashed", "--", query)
    assert done.code == code
    assert len(done.out.splitlines()) <= 24
    assert all(line.startswith("crx: ") and len(line) < 4400 for line in done.err.splitlines())


@pytest.mark.parametrize("name", ["\x0c", "^L", "\x0c.md", "a\nb.md"])
def test_a_document_with_a_control_character_for_a_name_is_found(
    crx: Crx, here: Path, name: str
) -> None:
    (here / "docs").mkdir()
    (here / "docs" / name).write_text(WHALES)
    assert crx("index", "docs", "-q").code == 0
    for form in ("text", "vimgrep", "locations", "files", "json", "jsonl"):
        done = crx("search", "krill", "--format", form)
        assert done.code == 0
        assert "\x0c" not in done.out
        assert len(crx("search", "krill", "--format", "files").out.splitlines()) == 1


def test_signs_are_found_as_a_literal_text(crx: Crx, here: Path) -> None:
    (here / "docs").mkdir()
    (here / "docs" / "arrow.md").write_text("Write -> for a function.\n")
    assert crx("index", "docs", "-q").code == 0
    done = crx("search", "--", "->")
    assert (done.code, done.out) == (1, "")
    assert "(--literal) finds it" in done.err
    assert crx("search", "--literal", "--", "->").code == 0
