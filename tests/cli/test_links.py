"""Hyperlinks in a terminal: what they name, and where there are none."""

from __future__ import annotations

import re
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run_process, run_terminal

from crx._cli.links import link_url, links_of_terminal
from crx._cli.output import format_line, linked
from crx.types import Citation

LINK = re.compile(r"\x1b\]8;;([^\x1b]*)\x1b\\")
HOST = socket.gethostname()

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths and terminals of Unix")


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM_PROGRAM", "WT_SESSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_a_search_links_each_place_to_its_file_and_ends_the_link(indexed: Path) -> None:
    shown = run_terminal("search", "krill", "-n", 1)[1]
    path = indexed.parent / "docs" / "whales.md"
    assert LINK.findall(shown) == [f"file://{HOST}{path}", ""]
    assert "1. docs/whales.md:3" in shown


@pytest.mark.parametrize(
    ("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "linux")]
)
def test_a_terminal_without_links_gets_none(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    shown = run_terminal("search", "krill")[1]
    assert "\x1b]" not in shown
    assert ("\x1b" in shown) == (value == "linux")


def test_a_pipe_gets_no_link(indexed: Path) -> None:
    for form in ("text", "json", "jsonl", "vimgrep"):
        assert "\x1b" not in run_process("search", "krill", "--format", form).out


@pytest.mark.parametrize(
    ("environ", "links"),
    [
        ({"TERM": "xterm-256color"}, "files"),
        ({"TERM": "xterm-kitty"}, "lines"),
        ({"TERM": "xterm", "TERM_PROGRAM": "vscode"}, "lines"),
        ({"WT_SESSION": "1"}, "files"),
        ({}, "none"),
    ],
)
def test_the_line_is_named_where_the_terminal_reads_it(environ: dict[str, str], links: str) -> None:
    assert links_of_terminal(environ) == links


def test_a_link_names_a_file_that_is_there_or_a_web_page(tmp_path: Path) -> None:
    file = tmp_path / "a #1 100%.md"
    file.write_text("")
    place = Citation(1, str(file), "", 0, 1, lines=(3, 9))
    url = f"file://{HOST}{tmp_path}/a%20%231%20100%25.md"
    assert link_url(place, links="files", environ={}) == url
    assert link_url(place, links="lines", environ={}) == f"{url}#3"
    assert link_url(place, links="none", environ={}) == ""
    in_editor = link_url(place, links="lines", environ={"TERM_PROGRAM": "vscode"})
    assert in_editor == f"{url}#3".replace(HOST, "")
    page = replace(place, uri="https://a.example/b", fragment="#:~:text=krill")
    assert link_url(page, links="files", environ={}) == "https://a.example/b#:~:text=krill"
    assert link_url(replace(place, uri="note:1"), links="files", environ={}) == ""
    assert link_url(replace(place, uri="/nowhere/a.md"), links="files", environ={}) == ""


def test_no_character_of_a_url_ends_its_sequence() -> None:
    line = format_line([linked("text", "https://a/\x1b\\\x07\x9c é\n\u202e%20")], is_styled=True)
    assert LINK.findall(line) == ["https://a/%1B%5C%07%C2%9C%20%C3%A9%0A%E2%80%AE%20", ""]
