"""Answers on the first screen of `crx search`: 75 queries over documentation and sources.

Three parts, each of 15 queries in words and 10 identifiers, codes and messages, over its own
packages of Debian with documentation and sources, pinned by hash in `first_screen_packages.json`,
that no other benchmark uses. The misses of the parts "choose" and "other" were looked at; the
questions and quotes of "other" were written before the first search, those of "report" before all
rules, and nothing was chosen on it. A query is answered if what `crx search` prints in 24 lines of
80 columns holds one of its quotes, up to white space and marks of formatting. The rival is the
first screen of ripgrep (`rg --search-zip --smart-case --fixed-strings QUERY`): for an identifier it
must never be ahead.

Run: python benches/first_screen.py FOLDER [--embedder none]

It downloads 9 MB into FOLDER with `apt-get download`, and needs dpkg, gzip and ripgrep.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import run_ripgrep, write_results

HERE = Path(__file__).parent
PACKAGES = json.loads((HERE / "first_screen_packages.json").read_bytes())
PARTS = ("choose", "other", "report")
LINES, COLUMNS = 24, 80
RERANK_MS = "10000"
# What a reader of a screen does not see as a difference.
_MARKS = re.compile(r"[\s`*_|\u2019'\u2026]+")


@dataclass(frozen=True, slots=True)
class Question:
    """A query, its part, its kind (words or code), and quotes of which the screen must hold one."""

    part: str
    kind: str
    query: str
    quotes: tuple[str, ...]

    def is_answered(self, screen: str) -> bool:
        """Return whether a screen holds a quote."""
        shown = plain(screen)
        return any(plain(quote) in shown for quote in self.quotes)


def plain(text: str) -> str:
    """Return a text without white space and marks of formatting."""
    return _MARKS.sub("", re.sub(r"<[^>]*>|\x1b\[[0-9;]*m", "", text)).casefold()


def read_questions() -> list[Question]:
    """Return all questions."""
    rows = (HERE / "first_screen_questions.jsonl").read_bytes().splitlines()
    return [Question(**{**row, "quotes": tuple(row["quotes"])}) for row in map(json.loads, rows)]


def unpack(folder: Path, part: str) -> None:
    """Unpack the packages of a part, which are downloaded if they are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    documents = folder / "packages"
    for package in PACKAGES:
        if package["part"] != part:
            continue
        if not (found := list(folder.glob(f"{package['name']}_*.deb"))):
            named = f"{package['name']}={package['version']}"
            subprocess.run(["apt-get", "download", named], cwd=folder, check=True)
            found = list(folder.glob(f"{package['name']}_*.deb"))
        if hashlib.sha256(found[0].read_bytes()).hexdigest() != package["sha256"]:
            raise SystemExit(f"{found[0]}: not the pinned version {package['version']}")
        target = documents / package["name"]
        if not target.exists():
            target.mkdir(parents=True)
            subprocess.run(["dpkg", "-x", found[0], target], check=True)


def crx(folder: Path, command: str, *arguments: str) -> str:
    """Return what a command of crx prints on a screen, with settings that are nobody's."""
    environment = {
        **os.environ,
        "COLUMNS": str(COLUMNS),
        "LINES": str(LINES),
        "CRX_HOME": str(folder / "home"),
        # A busy machine does not decide whether candidates are reranked.
        "CRX_RANK_RERANK_MS": RERANK_MS,
    }
    called = [sys.executable, "-m", "crx", command, "--index", "first.crx", *arguments]
    done = subprocess.run(called, cwd=folder, env=environment, capture_output=True, check=False)
    # 1: nothing found; 3: a document, such as a key for tests, was not read.
    if done.returncode not in (0, 1, 3):
        raise SystemExit(done.stderr.decode())
    return done.stdout.decode()


def search_lines(folder: Path, query: str) -> str:
    """Return the lines that ripgrep prints."""
    options = ["--search-zip", "--smart-case", "--fixed-strings", "--line-number", "--sort=path"]
    return run_ripgrep(*options, "--", query, "packages", folder=folder)


def first_screen(text: str) -> str:
    """Return what a screen holds of a text, whose long lines are wrapped."""
    rows = [
        line[at : at + COLUMNS]
        for line in text.splitlines()[: 2 * LINES]
        for at in range(0, max(1, len(line)), COLUMNS)
    ]
    # The parts of a line belong together.
    return "\n".join(rows[:LINES])


def report(title: str, questions: Sequence[Question], answered: Sequence[bool]) -> dict[str, int]:
    """Print the counts of answered questions by kind, and return them."""
    counts = {
        kind: sum(yes for each, yes in zip(questions, answered, strict=True) if each.kind == kind)
        for kind in ("words", "code")
    }
    print(
        f"{title}: {counts['words']} of 15 in words, {counts['code']} of 10 identifiers and codes"
    )
    return counts


def measure(folder: Path, part: str, *, embedder: str) -> dict[str, dict[str, int]]:
    """Print and return the counts of a part, of crx and of ripgrep."""
    unpack(folder, part)
    if not (folder / "first.crx").exists():
        crx(folder, "index", "packages", "--embedder", embedder, "-q")
    questions = [each for each in read_questions() if each.part == part]
    ours, theirs = [], []
    for each in questions:
        screen = first_screen(crx(folder, "search", "--", each.query))
        ours.append(each.is_answered(screen))
        theirs.append(each.is_answered(first_screen(search_lines(folder, each.query))))
        if not ours[-1]:
            ahead = ", ripgrep's has" if theirs[-1] else ""
            print(f"not on the first screen{ahead}: {each.query}")
    return {
        "crx": report(f"{part}, crx", questions, ours),
        "ripgrep": report(f"{part}, ripgrep", questions, theirs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embedder", default="e5@int8", help="of the indexes; default: e5@int8")
    parser.add_argument("--json", default="", metavar="FILE", help="write the counts to FILE")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    figures = {part: measure(folder / part, part, embedder=arguments.embedder) for part in PARTS}
    if arguments.json:
        write_results(
            arguments.json, benchmark="first screen, 75 queries", rounds=1, figures=figures
        )


if __name__ == "__main__":
    main()
