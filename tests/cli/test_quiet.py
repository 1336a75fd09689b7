"""An ordinary search is silent on stderr; a terminal gets one dim line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Crx, process, run_terminal

from crx._show.notes import choose_notes
from crx.types import Note

SUBJECTS = ("whales", "krill", "bread", "tides", "ships", "glaciers", "comets", "moss", "rust",
            "harbours")  # fmt: skip
QUESTIONS = ("what is said of {}", "{}", '"about {}"', "how old are {} in winter", "late {}")

# Searches for each line of a file in one process, with a line between.
BATCH = """
import sys
from crx._cli import run
for query in open("queries"):
    run(["search", query.strip(), *sys.argv[1:]])
    print("next", flush=True)
"""


@pytest.fixture
def _queries(here: Path, crx: Crx) -> None:
    """An index of which a part has no vectors yet, and a file with 50 queries."""
    (here / "docs").mkdir()
    for subject in SUBJECTS:
        for n in range(3):
            text = f"About {subject}, part {n}. " + f"In winter {subject} are {n} years old. " * 40
            (here / "docs" / f"{subject}{n}.md").write_text(f"# {subject}\n\n{text}\n")
    assert crx("index", "docs", "-q").code == 0
    for subject in SUBJECTS:
        (here / "docs" / f"late-{subject}.md").write_text(f"Of late {subject}, later.\n")
    assert crx("index", "docs", "-q", "--words").code == 0
    queries = [question.format(subject) for subject in SUBJECTS for question in QUESTIONS]
    assert len(queries) == 50
    (here / "queries").write_text("\n".join(queries) + "\n")


@pytest.mark.usefixtures("_queries")
@pytest.mark.parametrize("form", ["text", "json", "vimgrep", "locations", "files"])
def test_fifty_searches_in_a_pipe_write_nothing_to_stderr(form: str) -> None:
    words = process("--format", form, code=BATCH)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.count("next\n") == 50


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
@pytest.mark.usefixtures("_queries")
def test_fifty_searches_on_a_terminal_have_one_dim_line_each_at_most() -> None:
    code, shown = run_terminal(code=BATCH)
    assert code == 0
    searches = shown.split("next\n")[:-1]
    assert len(searches) == 50
    for each in searches:
        hints = re.findall(r"^\x1b\[2m\d+ of \d+(?: · --(?:more|full))+\x1b\[0m$", each, re.M)
        assert len(hints) <= 1
        assert "crx:" not in each
    assert "\x1b[2m5 of " in shown


def test_the_state_of_the_index_is_told_by_status_and_explain(
    crx: Crx, docs: Path, indexed: Path
) -> None:
    (docs / "late.md").write_text("Krill, later.\n")
    crx("index", "docs", "-q", "--words")
    late = "crx: 1 of 3 chunks are found by words alone until they have their vector"
    assert crx("search", "krill").err == ""
    assert late in crx("search", "krill", "--explain").err
    assert "66.7% of the chunks have their vector" in crx("status").out


def test_how_a_query_was_understood_is_told_before_what_is_found(indexed: Path) -> None:
    _, shown = run_terminal("search", "humpbakcs")
    assert shown.startswith("crx: showing results for: humpbacks")


def test_all_notes_are_told_if_nothing_is_found() -> None:
    state = Note("1 of 2 chunks are found by words alone", "state")
    assert choose_notes([state], passages=1) == []
    assert choose_notes([state], passages=0) == [state, "nothing found"]
