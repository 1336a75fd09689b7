"""Commits that mend a fault: their subjects are queries, the source files that they change answers.

The projects are public repositories in ten languages, pinned in `fix_commits.json`. Of each, the
tree of a commit is indexed with its tests, manuals and configuration. The queries are the subjects
of later commits that speak of a fault, have five words or more, and change one to three source
files of that tree. Tests, examples and vendored code are no answers. Nothing of a mended file is in
the index, because the tree is older.

Recall@k is the share of the changed files among the first k files. It is told for rankings of all
files, and of source files alone, with two rivals:

* BM25 over whole files (k1 1.2, b 0.75), words and parts of identifiers in small letters,
* words: files by how many words of the query they have, then by the lines that have one, as
  `ripgrep --count --ignore-case` counts them.

Weights are chosen on one half of the projects; figures are reported on the other. Intervals are
95%, by bootstrap over the commits.

Run: python benches/fix_commits.py FOLDER --half report

It needs git, which clones 150 MB into FOLDER unless FOLDER/NAME.git is there.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from code_search import CHOOSE, REPORT, interval
from numpy.typing import NDArray

import crx
from crx import _native
from crx.retrieve._query.spelling import find_function_words


@dataclass(frozen=True, slots=True)
class Project:
    """A public repository: the commit whose tree is indexed, and the last whose fixes are asked."""

    name: str
    url: str
    base: str
    head: str
    half: str


@dataclass(frozen=True, slots=True)
class Commit:
    """The subject of a commit and the source files that it changes."""

    subject: str
    files: frozenset[str]


PROJECTS = tuple(
    Project(**row) for row in json.loads((Path(__file__).parent / "fix_commits.json").read_bytes())
)
MOST_COMMITS = 30
MOST_FILES = 3
LEAST_WORDS = 5
CUTS = (1, 5, 10)
RANKED = 20
_FAULT = re.compile(r"(?i)\b(fix(e[sd])?|bugs?|crash\w*|wrong\w*|leaks?|errors?|fail\w*|broken)\b")
# Numbers of issues and pull requests, and prefixes such as "fix(parser):".
_MARKS = re.compile(r"\(?(?:GH-?|#)\d+\)?|^\w+\([^)]*\)!?:|\[[A-Z]+-\d+\]")
_ASIDE = re.compile(
    r"(?i)(^|/)(tests?|specs?|__tests__|examples?|samples?|bench\w*|vendor\w*|third_?party|docs?"
    r"|dist|fuzz\w*|extern\w*)/|(^|/)(test_|conftest)|[._-](test|spec|tests)\.\w+$|Tests?\.\w+$"
)
_WORD = re.compile(r"[A-Za-z]+|\d+")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def find_commits(git: Path, project: Project) -> list[Commit]:
    """Return the commits that are asked of a project, the oldest first."""
    tree = set(_git(git, "ls-tree", "-r", "--name-only", project.base).splitlines())
    log = _git(
        git,
        *("log", "--no-merges", "--reverse", "--name-only", "--no-renames"),
        *("--format=%x1e%s", f"{project.base}..{project.head}"),
    )
    commits: dict[str, Commit] = {}
    for entry in log.split("\x1e")[1:]:
        subject, *changed = [line for line in entry.splitlines() if line]
        text = " ".join(_MARKS.sub("", subject).split())
        files = frozenset(name for name in changed if is_answer(name))
        is_asked = _FAULT.search(text) and len(text.split()) >= LEAST_WORDS
        if is_asked and 1 <= len(files) <= MOST_FILES and files <= tree:
            commits.setdefault(text, Commit(text, files))
    return list(commits.values())[:MOST_COMMITS]


def is_answer(name: str) -> bool:
    """Return whether a file is source code of the project itself."""
    return _native.document_kind(name, "") == "code" and not _ASIDE.search(name)


def prepare(project: Project, folder: Path) -> tuple[Path, list[Commit]]:
    """Return the files of a project as they are indexed, and the commits that are asked."""
    git = folder / f"{project.name}.git"
    if not git.exists():
        subprocess.run(["git", "clone", "-q", "--bare", project.url, git], check=True)
    files = folder / project.name
    if not files.exists():
        files.mkdir(parents=True)
        archive = subprocess.run(
            ["git", "-C", git, "archive", project.base], check=True, capture_output=True
        ).stdout
        subprocess.run(["tar", "-x", "-C", files], check=True, input=archive)
    return files, find_commits(git, project)


def _git(git: Path, *arguments: str) -> str:
    run = subprocess.run(["git", "-C", git, *arguments], check=True, capture_output=True)
    return run.stdout.decode(errors="replace")


def rank_with_crx(
    project: Project, folder: Path, commits: Sequence[Commit], settings: Mapping[str, object]
) -> list[list[str]]:
    """Return the files that crx finds for each commit, best first."""
    root, path = folder / project.name, folder / f"{project.name}.crx"
    is_new = not path.exists()
    fixed = {"embedder": "none", "reranker": ""}
    with crx.open(path, settings={**fixed, **settings}) as index:
        if is_new:
            index.add(root)
        base = root.resolve()
        found = []
        for commit in commits:
            hits = index.search(commit.subject, k=5 * RANKED, window=0).hits
            names = [str(Path(hit.uri.partition("#")[0]).relative_to(base)) for hit in hits]
            found.append(list(dict.fromkeys(names)))
    return found


class FileRivals:
    """Rankings of whole files, without an index."""

    def __init__(self, root: Path) -> None:
        self._lines: dict[str, list[str]] = {}
        self._terms: dict[str, Counter[str]] = {}
        self._doc_freq: Counter[str] = Counter()
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            try:
                text = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
            name = str(path.relative_to(root))
            self._lines[name] = text.lower().splitlines()
            self._terms[name] = Counter(_terms(f"{name} {text}"))
            self._doc_freq.update(self._terms[name].keys())

    def rank_bm25(self, query: str, *, k1: float = 1.2, b: float = 0.75) -> list[str]:
        """Return the files that have a word of the query, by BM25 (Robertson and Walker, 1994)."""
        lengths = {name: sum(counts.values()) for name, counts in self._terms.items()}
        mean = sum(lengths.values()) / len(lengths)
        scores: Counter[str] = Counter()
        for term in set(_terms(query)):
            freq = self._doc_freq[term]
            idf = math.log(1 + (len(lengths) - freq + 0.5) / (freq + 0.5))
            for name, counts in self._terms.items():
                if count := counts[term]:
                    norm = k1 * (1 - b + b * lengths[name] / mean)
                    scores[name] += idf * count * (k1 + 1) / (count + norm)
        return [name for name, _ in sorted(scores.items(), key=lambda each: (-each[1], each[0]))]

    def rank_words(self, query: str) -> list[str]:
        """Return the files by the words of the query that they have, then by matching lines."""
        function_words = find_function_words(query, ["en"])
        words = {word.lower() for word in _WORD.findall(query) if len(word) > 2} - function_words
        ranked = []
        for name, lines in self._lines.items():
            joined = "\n".join(lines)
            held = [word for word in words if word in joined]
            if held:
                count = sum(any(word in line for word in held) for line in lines)
                ranked.append((-len(held), -count, name))
        return [name for *_, name in sorted(ranked)]


def _terms(text: str) -> list[str]:
    return [part.lower() for word in _WORD.findall(text) for part in _PART.findall(word)]


def recalls(ranked: Sequence[str], wanted: frozenset[str]) -> list[float]:
    """Return recall at each cut, of all files, then of source files alone."""
    sources = [name for name in ranked if _native.document_kind(name, "") == "code"]
    return [
        len(wanted.intersection(names[:cut])) / len(wanted)
        for names in (ranked, sources)
        for cut in CUTS
    ]


def measure(
    projects: Sequence[Project],
    folder: Path,
    settings: Mapping[str, object],
    *,
    with_rivals: bool = True,
) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    """Return the recalls of each system, a row a commit, and the project of each row."""
    rows: dict[str, list[list[float]]] = {}
    labels: list[str] = []
    for project in projects:
        root, commits = prepare(project, folder)
        ranked = {"crx": rank_with_crx(project, folder, commits, settings)}
        if with_rivals:
            rivals = FileRivals(root)
            ranked["BM25 of files"] = [rivals.rank_bm25(each.subject) for each in commits]
            ranked["words"] = [rivals.rank_words(each.subject) for each in commits]
        for name, files in ranked.items():
            rows.setdefault(name, []).extend(
                recalls(each, commit.files) for each, commit in zip(files, commits, strict=True)
            )
        labels += [project.name] * len(commits)
    return {name: np.array(values) for name, values in rows.items()}, labels


def describe(measured: Mapping[str, NDArray[np.float64]]) -> str:
    """Return a table of the recalls, and of how far crx is ahead."""
    heads = [f"{of} @{cut}" for of in ("all", "sources") for cut in CUTS]
    rows = ["| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for name, values in measured.items():
        rows.append(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in values.mean(0)) + " |")
    for name, values in measured.items():
        if name != "crx":
            gains = (measured["crx"] - values).T
            cells = [
                f"{each.mean():+.3f} [{low:+.3f}, {high:+.3f}]"
                for each in gains
                for low, high in [interval(each)]
            ]
            rows.append(f"| crx ahead of {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=(CHOOSE, REPORT), default=CHOOSE)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    settings = dict(each.split("=", 1) for each in given.set)
    projects = [project for project in PROJECTS if project.half == given.half]
    measured, labels = measure(projects, given.folder, settings)
    print(f"{len(labels)} commits of {len(projects)} projects")
    print(describe(measured))


if __name__ == "__main__":
    main()
