"""Search in source code: questions about packages in fourteen languages, answered by files.

The packages are source packages of Debian and of crates.io, pinned by version and hash in
`code_packages.json`; each is indexed with its tests, examples and documentation. Four kinds of
questions are made of them, always the same:

* symbol: a name that one to three files define,
* comment: the first sentence of the comment on a definition,
* purpose: the first sentence of the comment at the top of a file,
* change: an entry of the changelog that mentions a name defined in one file.

What a question was made from is hidden: comments are removed from the copy that is indexed, and
changelogs are left out. A sentence that stands elsewhere in the package is no question. Definitions
are those that ctags finds, so that they do not depend on what crx knows of a language. The answer
of a symbol is never a test, an example or a vendored file.

Weights are chosen on one half of the packages; gains are reported on the other. A metric is nDCG@10
with each file counted once at its best chunk ("files"), of the ten best chunks with a file counted
whenever it occurs as semble's benchmark does ("hits"), and of chunks that hold the definition
("chunks"). Intervals are 95%, by bootstrap over the questions of all packages.

Run: python benches/code_search.py FOLDER --half report --rules

It needs apt, which downloads 40 MB into FOLDER, and universal-ctags.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import re
import subprocess
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

import crx
from crx._index.handle import Index
from crx.types import Hit

SEED = 11
CHOOSE, REPORT = "choose", "report"
_SOURCES = (
    "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
    "http://deb.debian.org/debian bookworm main\n"
)


@dataclass(frozen=True, slots=True)
class Package:
    """A source package of a registry, debian or cargo, and the hash of its authors' archive."""

    registry: str
    name: str
    version: str
    language: str
    licence: str
    half: str
    sha256: str


PACKAGES = tuple(
    Package(**row)
    for row in json.loads((Path(__file__).parent / "code_packages.json").read_bytes())
)
# Questions of each kind that are asked of a package, at most.
MOST = {"symbol": 20, "comment": 20, "purpose": 10, "change": 10}
LARGEST_FILE = 1_000_000
WORDS = range(5, 31)
_EXTENSIONS = {
    "Python": (".py",),
    "Rust": (".rs",),
    "Go": (".go",),
    "JavaScript": (".js", ".mjs", ".cjs"),
    "TypeScript": (".ts",),
    "Java": (".java",),
    "C": (".c", ".h"),
    "C++": (".cpp", ".cc", ".h", ".hpp"),
    "Ruby": (".rb",),
    "PHP": (".php",),
    "Lua": (".lua",),
    "OCaml": (".ml", ".mli"),
    "R": (".R", ".r"),
    "Elixir": (".ex", ".exs"),
}
_KINDS = frozenset(
    [
        "class",
        "function",
        "method",
        "struct",
        "interface",
        "enum",
        "trait",
        "type",
        "typedef",
        "macro",
        "member",
        "module",
        "func",
        "constructor",
        "singletonMethod",
        "functionVar",
        "union",
        "namespace",
        "implementation",
        "generator",
    ]
)
_CHANGELOG = re.compile(r"(?i)(^|/)(change|changes|changelog|news|history|release|upgrading)[^/]*$")
_ASIDE = re.compile(
    r"(?i)(^|/)(tests?|specs?|__tests__|testing|examples?|samples?|demos?|bench\w*|docs?|vendor\w*|"
    r"third_?party|_demos|__\w+__|node_modules|extern\w*|dist|debian|fixtures?|site|website|debug|perf|"
    r"contrib|unit-tests|testbed|data)/|(^|/)(test_|conftest)|[._-](test|spec|tests)\.\w+$"
    r"|Tests?\.\w+$|\.min\.js$"
)
_MARKER = re.compile(
    r"^\s*(?:/\*[*!]?|\*/|\(\*\*?|\*\)|\*(?!\))|//[/!]?|#['!]?|--+\[*|\"\"\"|''')\s?"
)
_SENTENCE = re.compile(r"(.{25,220}?[.!?])(?:\s|$)")
_TAG = re.compile(r"[@\\](?:brief|short|desc(?:ription)?|details|title)\b\s*")
_STOP = re.compile(r"^\s*(?:[@\\]\w+|:\w+|Args:|Parameters|Returns|>>>|```|---|===|%)")
_NO_PROSE = re.compile(r"=|//|/\*|;\s*$|-\*-")
_LICENCE = re.compile(r"(?i)licen[cs]e|copyright|\(c\)|spdx-|all rights reserved|warranty")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{3,}")
_ENTRY = re.compile(
    r"^\s*(?:[-*+o]|\d+\.)\s+(.+(?:\n(?!\s*(?:[-*+o]|\d+\.)\s|\s*$).+)*)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Definition:
    """What ctags says of a definition: lines from 1, the last included."""

    name: str
    file: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the files that answer it, and the lines of its definition in the indexed copy.

    `lines` are the file, the first and the last line, or None.
    """

    kind: str
    text: str
    files: tuple[str, ...]
    lines: tuple[str, int, int] | None = None


def fetch(package: Package, folder: Path) -> Path:
    """Return the archive of a package, downloaded if need be; raise `ValueError` if it differs."""
    downloads = folder / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    download = _download_crate if package.registry == "cargo" else _download_source
    archive = download(package, downloads)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != package.sha256:
        raise ValueError(f"{archive}: sha256 {digest}, not {package.sha256}")
    return archive


def _download_source(package: Package, folder: Path) -> Path:
    def find() -> list[Path]:
        found = sorted(folder.glob(f"{package.name}_*.orig.tar.*"))
        return [path for path in found if path.suffix != ".asc"]

    if not find():
        state = folder / "apt"
        (state / "lists/partial").mkdir(parents=True, exist_ok=True)
        (state / "sources.list").write_text(_SOURCES)
        options = {
            "Dir::Etc::sourcelist": state / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::State::lists": state / "lists",
            "Dir::Cache": state,
        }
        apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
        if not any((state / "lists").glob("*Sources*")):
            subprocess.run([*apt, "update"], check=True)
        pinned = f"{package.name}={package.version}"
        # A mirror may lack Debian's own part, which is not needed.
        subprocess.run([*apt, "source", "--download-only", pinned], check=False, cwd=folder)
    if not find():
        raise ValueError(f"{package.name}: apt did not download {package.version}")
    return find()[0]


def _download_crate(package: Package, folder: Path) -> Path:
    name = f"{package.name}-{package.version}"
    project = folder / name
    (project / "src").mkdir(parents=True, exist_ok=True)
    (project / "src/lib.rs").write_text("")
    wanted = f'{package.name} = {{ version = "={package.version}", default-features = false }}'
    manifest = f'[package]\nname = "fetch"\nversion = "0.0.0"\n[dependencies]\n{wanted}\n'
    (project / "Cargo.toml").write_text(manifest)
    home = folder / "cargo"
    environment = {**os.environ, "CARGO_HOME": str(home)}
    subprocess.run(["cargo", "-q", "fetch"], check=True, cwd=project, env=environment)
    return next(home.glob(f"registry/cache/*/{name}.crate"))


def unpack(archive: Path, folder: Path) -> None:
    """Write the text files of an archive below a folder, without its changelogs."""
    with tarfile.open(archive) as members:
        for member in members:
            name = member.name.removeprefix("./").partition("/")[2]
            if not member.isfile() or member.size > LARGEST_FILE or not name:
                continue
            content = members.extractfile(member)
            data = content.read() if content else b""
            try:
                text = data.decode()
            except UnicodeDecodeError:
                continue
            kept = folder / ("changelogs" if _CHANGELOG.search(name) else "files") / name
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(text.replace("\r\n", "\n").replace("\r", "\n"), newline="")


def find_definitions(files: Path, language: str) -> list[Definition]:
    """Return the definitions that ctags finds in the files of a language, in order."""
    command = ["ctags", "--output-format=json", "--fields=+ne", "--sort=no", "-R", "-f-", "."]
    run = subprocess.run(command, cwd=files, capture_output=True, check=True)
    found = []
    for line in run.stdout.splitlines():
        tag = json.loads(line)
        file = tag["path"].removeprefix("./")
        is_named = not tag["name"].startswith(("Anonymous", "anonymous", "__anon"))
        if is_named and tag.get("kind") in _KINDS and file.endswith(_EXTENSIONS[language]):
            first = tag["line"]
            found.append(Definition(tag["name"], file, first, tag.get("end", first)))
    return sorted(found, key=lambda each: (each.file, each.first, each.name))


def comment_lines(lines: Sequence[str], definition: Definition, language: str) -> tuple[int, int]:
    """Return the lines of the comment on a definition, from 0 and half open; (0, 0) if none."""
    at = definition.first - 1
    if language == "Python":
        while at < min(len(lines), definition.first + 15) and not re.search(
            r":\s*(#.*)?$", lines[at]
        ):
            at += 1
        start = at + 1
        if start >= len(lines) or not re.match(r'\s*[ru]?("""|\'\'\')', lines[start]):
            return 0, 0
        quote = lines[start].strip().lstrip("ru")[:3]
        end = start
        while end < len(lines) and lines[end].count(quote) + (end > start) < 2:
            end += 1
        return (start, end + 1) if end < len(lines) else (0, 0)
    end = at
    while end > 0 and re.match(r"\s*(@\w|#\[|\[\[|static\b|template\b)", lines[end - 1]):
        end -= 1
    start = end
    if start and lines[start - 1].rstrip().endswith(("*/", "*)")):
        opening = "/*" if lines[start - 1].rstrip().endswith("*/") else "(*"
        while start > 0 and opening not in lines[start - 1]:
            start -= 1
        return (start - 1, end) if start else (0, 0)
    while start and re.match(
        r"\s*(///|//|#'|#(?![!\[]|include|define|if|end|else)|--)", lines[start - 1]
    ):
        start -= 1
    return (start, end) if start < end else (0, 0)


def head_lines(lines: Sequence[str], language: str) -> tuple[int, int]:
    """Return the lines of the first comment of a file that names no licence; (0, 0) if none."""
    at = 0
    while at < min(len(lines), 80):
        start = at
        stripped = lines[at].strip()
        if not stripped or stripped.startswith(("<?php", "#!", "'use strict'", '"use strict"')):
            at += 1
            continue
        closing = next(
            (
                end
                for begin, end in (("/*", "*/"), ("(*", "*)"), ('"""', '"""'), ("'''", "'''"))
                if stripped.lstrip("ru").startswith(begin)
            ),
            "",
        )
        if closing:
            rest = stripped.lstrip("ru")[2:]
            while closing not in rest:
                at += 1
                if at >= len(lines):
                    return 0, 0
                rest = lines[at]
            at += 1
        elif re.match(r"(//|#(?!\[|include|define|if|pragma)|--)", stripped):
            while at < len(lines) and re.match(
                r"\s*(//|#(?!\[|include|define|if|pragma)|--)", lines[at]
            ):
                at += 1
        else:
            return 0, 0
        if not _LICENCE.search("\n".join(lines[start:at])):
            return start, at
    return 0, 0


def first_sentence(lines: Iterable[str]) -> str:
    """Return the first sentence of a comment, "" if it is no fit question."""
    words: list[str] = []
    for line in lines:
        bare = (
            _TAG.sub("", _MARKER.sub("", line))
            .strip()
            .strip('"')
            .removesuffix("*/")
            .removesuffix("*)")
        )
        if (words and not bare.strip()) or _STOP.match(bare):
            if words:
                break
            continue
        words += bare.split()
    text = re.sub(r"</?\w+[^>]*>|\{@\w+ ([^}]*)\}|`|\{!?|\}", r"\1", " ".join(words))
    match = _SENTENCE.match(text)
    sentence = match[1] if match else text[:220]
    fits = len(sentence.split()) in WORDS and re.search(r"[a-z]{3}", sentence)
    return sentence if fits and not _NO_PROSE.search(sentence) else ""


def make_questions(folder: Path, package: Package) -> list[Question]:
    """Return the questions about a package and hide in its files what they were made from."""
    files, chance = folder / "files", random.Random(SEED)
    definitions = find_definitions(files, package.language)
    texts = {
        str(p.relative_to(files)): p.read_text() for p in sorted(files.rglob("*")) if p.is_file()
    }
    everything = "\n".join(
        " ".join(_MARKER.sub("", line) for line in text.splitlines()) for text in texts.values()
    )
    everything = " ".join(everything.split())
    by_name: dict[str, set[str]] = defaultdict(set)
    for each in definitions:
        by_name[each.name].add(each.file)
    main = [each for each in definitions if not _ASIDE.search(each.file)]
    asked: list[Question] = []
    removed: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def is_hidden(sentence: str) -> bool:
        return everything.count(sentence.rstrip(".!?")) <= 1

    shuffled = list(main)
    chance.shuffle(shuffled)
    taken: set[str] = set()
    for each in shuffled:
        if len(taken) == MOST["comment"]:
            break
        lines = texts[each.file].splitlines()
        start, end = comment_lines(lines, each, package.language)
        sentence = first_sentence(lines[start:end]) if start < end else ""
        clear = sentence not in taken and each.name.lower() not in sentence.lower()
        if not sentence or not clear or _LICENCE.search(sentence) or not is_hidden(sentence):
            continue
        if any(start < b and a < end for a, b in removed[each.file]):
            continue
        taken.add(sentence)
        removed[each.file].append((start, end))
        span = (each.file, each.first, max(each.last, each.first))
        asked.append(Question("comment", sentence, (each.file,), span))
    sources = sorted({each.file for each in main})
    chance.shuffle(sources)
    heads = 0
    for file in sources:
        lines = texts[file].splitlines()
        start, end = head_lines(lines, package.language)
        sentence = first_sentence(lines[start:end]) if start < end else ""
        if heads == MOST["purpose"]:
            break
        if (
            not sentence
            or not is_hidden(sentence)
            or any(start < b and a < end for a, b in removed[file])
        ):
            continue
        if start > 3 and any(each.file == file and 0 <= each.first - 1 - end <= 2 for each in main):
            continue  # the comment on the first definition
        heads += 1
        removed[file].append((start, end))
        asked.append(Question("purpose", sentence, (file,)))
    names = sorted(
        {e.name for e in main if _IDENTIFIER.fullmatch(e.name) and len(by_name[e.name]) <= 3}
    )
    chance.shuffle(names)
    of_name = {each.name: each for each in reversed(main)}
    for name in names[: MOST["symbol"]]:
        at = of_name[name]
        answers = tuple(sorted(file for file in by_name[name] if not _ASIDE.search(file)))
        asked.append(Question("symbol", name, answers, (at.file, at.first, at.last)))
    asked += _changes(folder / "changelogs", by_name, of_name, chance)
    for file, spans in removed.items():
        kept = texts[file].splitlines(keepends=True)
        for start, end in sorted(spans, reverse=True):
            del kept[start:end]
        (files / file).write_text("".join(kept), newline="")
    return [_moved(question, removed) for question in asked]


def _changes(
    logs: Path,
    by_name: Mapping[str, set[str]],
    of_name: Mapping[str, Definition],
    chance: random.Random,
) -> list[Question]:
    """Return questions from the entries of changelogs."""
    found: dict[str, Question] = {}
    for log in sorted(path for path in logs.rglob("*") if path.is_file()):
        for match in _ENTRY.finditer(log.read_text()):
            entry = re.sub(
                r"\(?#\d+\)?|\[[^\]]*\]\([^)]*\)|https?:\S+|[`*]", "", " ".join(match[1].split())
            )
            known = [
                name for name in _IDENTIFIER.findall(entry) if _is_symbol(name) and name in of_name
            ]
            if len(entry.split()) in WORDS and len(set(known)) == 1 and len(by_name[known[0]]) == 1:
                at = of_name[known[0]]
                found[entry] = Question("change", entry, (at.file,), (at.file, at.first, at.last))
    entries = sorted(found)
    chance.shuffle(entries)
    return [found[entry] for entry in entries[: MOST["change"]]]


def _is_symbol(name: str) -> bool:
    return "_" in name or bool(re.search(r"[a-z][A-Z]|[A-Z]{2}[a-z]", name))


def _moved(question: Question, removed: Mapping[str, Sequence[tuple[int, int]]]) -> Question:
    """Return a question with the lines that its definition has after comments were removed."""
    if question.lines is None:
        return question
    file, first, last = question.lines

    def moved(line: int) -> int:
        return line - sum(
            min(end, line) - start for start, end in removed[file] if start < line - 1
        )

    lines = (file, moved(first), moved(last))
    return Question(question.kind, question.text, question.files, lines)


def prepare(package: Package, folder: Path) -> tuple[Path, list[Question]]:
    """Return the files of a package as they are indexed and its questions; both are kept."""
    home = folder / package.name
    kept = home / "questions.json"
    if not kept.exists():
        unpack(fetch(package, folder), home)
        questions = make_questions(home, package)
        rows = [(q.kind, q.text, q.files, q.lines) for q in questions]
        kept.write_bytes(orjson.dumps(rows, option=orjson.OPT_INDENT_2))
    return home / "files", [
        Question(kind, text, tuple(files), tuple(lines) if lines else None)
        for kind, text, files, lines in orjson.loads(kept.read_bytes())
    ]


def open_index(
    package: Package, folder: Path, settings: Mapping[str, object], contexts: str
) -> Index:
    """Return the index of a package, built if there is none yet."""
    files, _ = prepare(package, folder)
    path = folder / package.name / f"{contexts}.crx"
    is_new = not path.exists()
    fixed = {"embedder": "none", "contexts": contexts, "reranker": ""}
    index = crx.open(path, settings={**fixed, **settings})
    if is_new:
        index.add(files)
    return index


METRICS = ("files", "hits", "chunks")
MOST_HITS = 50


def ndcg(gains: Sequence[bool], wanted: int) -> float:
    """Return nDCG@10 of a ranking with `wanted` relevant items."""
    gained = sum(1 / math.log2(at + 2) for at, gain in enumerate(gains[:10]) if gain)
    ideal = sum(1 / math.log2(at + 2) for at in range(min(wanted, 10)))
    return gained / ideal


def score(question: Question, hits: Sequence[Hit], root: Path, lines_of: LineIndex) -> list[float]:
    """Return the metrics of the hits of a question, NaN for one that does not apply."""
    names = [str(Path(hit.uri).relative_to(root)) for hit in hits]
    wanted = set(question.files)
    files = [name in wanted for name in dict.fromkeys(names)]
    seen: set[str] = set()
    repeated = []
    for name in names[:10]:
        repeated.append(name in wanted and name not in seen)
        seen.add(name)
    chunks = math.nan
    if question.lines:
        file, first, last = question.lines
        spans = [
            lines_of.lines(file, hit.start, hit.end) if name == file else (0, -1)
            for name, hit in zip(names, hits, strict=True)
        ]
        chunks = ndcg([a <= first + 1 and first <= b and last >= a for a, b in spans], 1)
    return [ndcg(files, len(wanted)), ndcg(repeated, len(wanted)), chunks]


class LineIndex:
    """The lines of offsets in files."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._ends: dict[str, NDArray[np.int64]] = {}

    def lines(self, file: str, start: int, end: int) -> tuple[int, int]:
        """Return the first and last line, from 1, of a span of characters."""
        if file not in self._ends:
            text = (self._root / file).read_text()
            self._ends[file] = np.array([m.start() for m in re.finditer("\n", text)], np.int64)
        first, last = np.searchsorted(self._ends[file], [start, max(start, end - 1)])
        return int(first) + 1, int(last) + 1


def measure(
    packages: Sequence[Package], folder: Path, settings: Mapping[str, object], contexts: str
) -> tuple[NDArray[np.float64], list[tuple[str, str, str]]]:
    """Return the metrics of all questions, a row each, and their packages, languages and kinds."""
    rows, labels = [], []
    for package in packages:
        root, questions = prepare(package, folder)
        lines_of = LineIndex(root)
        with open_index(package, folder, settings, contexts) as index:
            for question in questions:
                hits = index.search(question.text, k=MOST_HITS, window=0).hits
                rows.append(score(question, hits, root.resolve(), lines_of))
                labels.append((package.name, package.language, question.kind))
    return np.array(rows), labels


def interval(differences: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95% interval of a mean, by bootstrap."""
    known = differences[~np.isnan(differences)]
    rng = np.random.default_rng(SEED)
    means = known[rng.integers(len(known), size=(4000, len(known)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def describe(values: NDArray[np.float64], labels: Sequence[tuple[str, str, str]]) -> str:
    """Return the means of the metrics, of all questions and by kind."""
    kinds = ("all", *MOST)
    rows = [f"{'':9}" + "".join(f"{metric:>9}" for metric in METRICS) + f"{'questions':>11}"]
    for kind in kinds:
        of = [at for at, label in enumerate(labels) if kind in ("all", label[2])]
        means = [
            np.nanmean(column) if np.isfinite(column).any() else math.nan for column in values[of].T
        ]
        rows.append(f"{kind:9}" + "".join(f"{mean:9.3f}" for mean in means) + f"{len(of):11}")
    return "\n".join(rows)


# Settings that turn a rule off.
RULES: Mapping[str, Mapping[str, float]] = {
    "definitions": {"rank.code.definition": 0.0},
    "names": {"rank.code.names": 0.0},
    "tests and the like": {"rank.code.aside": 1.0},
    "several hits": {"rank.code.file": 0.0},
}
OFF = {name: value for rule in RULES.values() for name, value in rule.items()}


def compare_rules(packages: Sequence[Package], folder: Path, contexts: str) -> str:
    """Return a table of the gain of all rules, and of each: with all, less without it."""
    full, _ = measure(packages, folder, {}, contexts)
    without = {
        "all rules": measure(packages, folder, OFF, contexts)[0],
        **{name: measure(packages, folder, rule, contexts)[0] for name, rule in RULES.items()},
    }
    rows = ["| gain of | " + " | ".join(METRICS) + " |", "|---|" + "---:|" * len(METRICS)]
    for name, values in without.items():
        cells = []
        for differences in (full - values).T:
            low, high = interval(differences)
            cells.append(f"{np.nanmean(differences):+.3f} [{low:+.3f}, {high:+.3f}]")
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=(CHOOSE, REPORT), default=CHOOSE)
    parser.add_argument("--contexts", choices=("none", "outline"), default="outline")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--rules", action="store_true", help="also the gain of each rule")
    given = parser.parse_args()
    settings = dict(each.split("=", 1) for each in given.set)
    packages = [package for package in PACKAGES if package.half == given.half]
    values, labels = measure(packages, given.folder, settings, given.contexts)
    print(describe(values, labels))
    if given.rules:
        print(compare_rules(packages, given.folder, given.contexts))


if __name__ == "__main__":
    main()
