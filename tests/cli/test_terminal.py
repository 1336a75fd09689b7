"""What reaches a terminal: no control character of a document, a file's name or an answer."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from command_line import Crx, run_process, run_terminal

from crx._cli.visible import visible_json, visible_line, visible_text

# Sequences that set colors, hide text, rename the window, link, delete, ring, reorder and forge.
HOSTILE = (
    "\x1b[31mred", "\x1b[8mhidden", "\x1b]0;title\x07", "\x1b]8;;evil:x\x1b\\link",
    "\x1b[2J", "\x1b[1A\x1b[2K", "\x9b31m", "\x9d0;title\x9c", "a\x08\x08\x08b", "\x07", "\x7f",
    "\u202eexe.txt", "\u2066x\u2069", "\u200fx", "\x0b\x0c", "one\rtwo", "x\u2028y", "\x1bc",
    "\U000e0001\U000e0069\U000e007f",
)  # fmt: skip
DOCUMENTS = 200
CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
OURS = re.compile(r"\x1b\[[012]m|\x1b\]8;;(?:file://[!-~]+)?\x1b\\")

# Runs every command line of a JSON file in one process.
BATCH = """
import json, sys
from crx._cli import run
for words in json.load(open(sys.argv[1])):
    run(words)
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="names and terminals of Unix")


@pytest.fixture(autouse=True)
def _terminal_with_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def hostile(here: Path, crx: Crx) -> list[str]:
    """An index of hostile documents with hostile names; returns the names."""
    (here / "docs").mkdir()
    names = []
    for n in range(DOCUMENTS):
        sequence = HOSTILE[n % len(HOSTILE)]
        line_end = "\n" if n % 3 == 0 else ""
        names.append(f"docs/krill {n} {sequence}{line_end}1. forged.md")
        text = f"# Krill {n} {sequence} whale\n\nBlue whales {n} eat {sequence} krill.\n"
        text += "Humpbacks sing for hours, and nobody knows why they do so. " * 10 + "\n"
        (here / names[-1]).write_text(text, newline="")
    (here / "docs" / os.fsdecode(b"krill \xff.md")).write_text("Krill of a name in Latin 1.\n")
    done = crx("index", "docs", "-q")
    assert (done.code, controls(done.out + done.err)) == (0, []), done.err
    return names


def controls(shown: str) -> list[str]:
    """Return the control characters in what was shown that are not from crx."""
    return CONTROLS.findall(OURS.sub("", shown))


def batch(here: Path, lines: list[list[str]]) -> Path:
    (here / "batch.json").write_text(json.dumps(lines))
    return here / "batch.json"


def test_nothing_hostile_reaches_a_terminal(here: Path, hostile: list[str]) -> None:
    query = "what do blue whales eat?"
    lines = [["show", name] for name in hostile]
    lines += [["show", name, "--contexts"] for name in hostile[:30]]
    lines += [["search", f"{query} {n}", "--where", f"path={hostile[n]}"] for n in range(30)]
    lines += [["search", query, *more] for more in ([], ["--more", "--explain"], ["--full"])]
    lines += [["search", query, "--json"], ["status"], ["status", "--documents"]]
    lines += [["prompt", query, "-k", "50"], ["ask", query, "--with", "fake:", "-k", "50"]]
    lines += [["search", f"{each}\x1b[31m", "--leg", "bm25"] for each in HOSTILE]
    lines += [["show", each] for each in HOSTILE]
    code, shown = run_terminal(batch(here, lines), code=BATCH, lines=50, columns=200)
    assert code == 0
    assert len(shown) > 100_000
    assert "^[[31m" in shown
    assert controls(shown) == []
    assert re.findall(r"^1\. forged", shown, re.MULTILINE) == []


def test_nothing_hostile_reaches_a_pipe_and_json_gives_it_back(
    crx: Crx, hostile: list[str]
) -> None:
    done = run_process("show", hostile[0])
    assert (done.code, controls(done.out)) == (0, [])
    encoded = crx("show", hostile[0], "--json").out
    assert controls(encoded) == []
    shown = json.loads(encoded)
    assert shown["uri"].endswith(hostile[0])
    assert HOSTILE[0] in "".join(chunk["text"] for chunk in shown["chunks"])


def test_colors_are_for_terminals(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[1m" in run_terminal("search", "krill")[1]
    assert "\x1b" not in run_process("search", "krill").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run_terminal("search", "krill")[1]


@pytest.mark.usefixtures("indexed")
def test_function_words_of_a_question_are_not_bold() -> None:
    shown = run_terminal("search", "what do the blue whales eat")[1]
    assert "\x1b[1mwhales" in shown
    assert "\x1b[1mthe\x1b" not in shown.lower()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\x1b[1m", "^[[1m"),
        ("\x9b\u202e\u2028", "\ufffd\ufffd\ufffd"),
        ("\x7f\x00", "^?^@"),
        ("\udcff", "\\xff"),
        ("a\tb\nc", "a^Ib^Jc"),
        ("日本語 é 🙂", "日本語 é 🙂"),
    ],
)
def test_controls_are_shown_in_caret_notation_or_as_a_replacement(text: str, line: str) -> None:
    assert visible_line(text) == line
    assert visible_text("a\tb\nc\r") == "a\tb\nc^M"


def test_json_stays_the_same_value() -> None:
    encoded = '{"a": "\x9b\u202e\x7f\U000e0041 é"}'
    assert visible_json(encoded) == '{"a": "\\u009b\\u202e\\u007f\\udb40\\udc41 é"}'
    assert json.loads(visible_json(encoded)) == json.loads(encoded)


def test_a_terminal_that_cannot_show_a_character_gets_its_code(here: Path, crx: Crx) -> None:
    (here / "a.txt").write_text("Krill 日本\n")
    crx("index", "a.txt", "-q")
    done = run_process("show", "a.txt", env={"PYTHONIOENCODING": "latin-1"})
    assert (done.code, done.out) == (0, "Krill \\u65e5\\u672c\n\n")
