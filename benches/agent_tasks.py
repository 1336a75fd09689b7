"""40 tasks of an agent in source packages: which tool answers, in how many tokens.

The packages are one half of those of `code_search.py`: what is shown is chosen on one half and
reported on the other. Ten tasks of each kind are made of them by ctags, always the same, and
answered by lines that are known:

* callers: "what calls NAME": a line that calls a function that is defined once and called in one
  to three files; the answer is the head of the function around the call,
* configuration: "value of max header size": a constant in capitals; the line that defines it,
* errors: the text of an error; the head of the function that raises it,
* tests: "tests of NAME": the name of a test that has the name, in a folder of tests.

The client is a script, without a model. It calls `references` with the name for callers and tests,
`search` with the words for the others, and, if that does not answer, `search` or `fetch` of 40
lines around the results, best first. Beside it a client that greps: the name or the longest words,
the first 100 lines, then the two files with most of them, as in `agents.py`. A task is solved when
what was read has the answer. Tokens are counted as `agent_client.py` says.

Told is also the share of answers within the first 500, 1,000 and 2,000 tokens that a client read.

Run: python benches/agent_tasks.py FOLDER --half report

FOLDER is that of `code_search.py`; universal-ctags is needed.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_client import (
    Run,
    Transcript,
    call_tool,
    grep_and_read,
    load_count_tokens,
    search_and_fetch,
)
from code_search import (
    _ASIDE,
    CHOOSE,
    PACKAGES,
    REPORT,
    SEED,
    Definition,
    find_definitions,
    open_index,
    prepare,
)

from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService

KINDS = ("callers", "configuration", "errors", "tests")
TASKS_OF_A_KIND = 10
CUTS = (500, 1_000, 2_000)
CHEAP = 700
# The clients that search, and their most calls.
CLIENTS = {"crx, one call": 1, "crx, two calls": 2, "crx, four calls": 4}
_RAISES = re.compile(
    r"(?:raise|throw|error|Error|Exception|panic|fail|warn)\w*\W.*?[\"']([A-Z][^\"'%{}\\$]{18,80})[\"']"
)
_CONSTANT = re.compile(r"^[A-Z][A-Z0-9]+(?:_[A-Z0-9]+){1,4}$")


@dataclass(frozen=True, slots=True)
class Task:
    """A question about a package, the name in it, if it has one, and texts of which one answers."""

    kind: str
    package: str
    question: str
    name: str
    answers: tuple[str, ...]


def make_tasks(folder: Path, half: str = REPORT) -> list[Task]:
    """Return the tasks, those of a kind spread over the packages."""
    by_kind: dict[str, list[list[Task]]] = defaultdict(list)
    for package in PACKAGES:
        if package.half != half:
            continue
        root, _ = prepare(package, folder)
        definitions = find_definitions(root, package.language)
        texts = {
            str(path.relative_to(root)): path.read_text().splitlines()
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }
        made = [*_name_tasks(package.name, definitions, texts)]
        made += _constants(package.name, texts, package.language, definitions)
        made += _errors(package.name, definitions, texts)
        for kind in KINDS:
            own = [task for task in made if task.kind == kind]
            random.Random(SEED).shuffle(own)
            by_kind[kind].append(own)
    return [task for kind in KINDS for task in _spread(by_kind[kind])]


def _spread(lists: Sequence[list[Task]]) -> list[Task]:
    """Return the first task of each package, then the second, until there are enough."""
    rounds = max(map(len, lists))
    turns = [own[at] for at in range(rounds) for own in lists if at < len(own)]
    return turns[:TASKS_OF_A_KIND]


def _around(definitions: Sequence[Definition], file: str, line: int) -> Definition | None:
    """Return the innermost definition around a line that is not the line's own."""
    around = [d for d in definitions if d.file == file and d.first < line <= d.last]
    return min(around, key=lambda d: d.last - d.first, default=None)


def _name_tasks(
    package: str, definitions: Sequence[Definition], texts: dict[str, list[str]]
) -> Iterator[Task]:
    """Yield the tasks about callers and tests of names that are defined once."""
    counts = Counter(each.name for each in definitions)
    names = sorted(
        each.name
        for each in definitions
        if counts[each.name] == 1 and not _ASIDE.search(each.file) and len(each.name) > 6
    )
    random.Random(SEED).shuffle(names)
    joined = {file: "\n".join(lines) for file, lines in texts.items()}
    for name in names[:60]:
        call = re.compile(rf"\b{re.escape(name)}\b\s*\(")
        defined = next(each for each in definitions if each.name == name)
        callers, tests = [], []
        for file, lines in texts.items():
            if name not in joined[file]:
                continue
            for at, row in enumerate(lines, 1):
                if not call.search(row) or (file == defined.file and at == defined.first):
                    continue
                around = _around(definitions, file, at)
                if around and around.name != name:
                    head = lines[around.first - 1].strip()
                    (tests if _ASIDE.search(file) else callers).append((file, head, around.name))
        if 1 <= len({file for file, *_ in callers}) <= 3:
            answers = tuple(head for _, head, _ in callers)
            yield Task("callers", package, f"what calls {name}", name, answers)
        if 1 <= len({file for file, *_ in tests}) <= 3:
            yield Task("tests", package, f"tests of {name}", name, tuple(n for *_, n in tests))


def _constants(
    package: str, texts: dict[str, list[str]], language: str, definitions: Sequence[Definition]
) -> Iterator[Task]:
    sources = {each.file for each in definitions if not _ASIDE.search(each.file)}
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted(sources):
        for row in texts.get(file, []):
            match = re.match(
                r"\s*(?:#\s*define|(?:pub|public|private|static|final|const|export|let|var|int|long"
                r"|String|usize|u\d+|\s)*)\s*([A-Z][A-Z0-9_]+)\b(?:\s*:[^=]+)?\s*(?:=|\s)\s*\S",
                row,
            )
            if match and _CONSTANT.match(match[1]) and re.search(r"\d|[\"']", row):
                found[match[1]].append(row.strip())
    for name in sorted(found):
        if len(found[name]) == 1:
            words = name.lower().replace("_", " ")
            yield Task("configuration", package, f"value of {words}", "", (found[name][0],))


def _errors(
    package: str, definitions: Sequence[Definition], texts: dict[str, list[str]]
) -> Iterator[Task]:
    for file in sorted({each.file for each in definitions if not _ASIDE.search(each.file)}):
        for at, row in enumerate(texts.get(file, []), 1):
            match = _RAISES.search(row)
            around = _around(definitions, file, at) if match else None
            if match and around and len(match[1].split()) >= 4:
                head = texts[file][around.first - 1].strip()
                yield Task("errors", package, match[1], "", (head,))


def run_crx(service: SearchService, task: Task, transcript: Transcript) -> Run:
    """Call the tool of the kind of task, then search and read around the results."""
    if task.name:
        call_tool(service, transcript, "references", {"name": task.name})
    if not transcript.is_over:
        search_and_fetch(service, transcript, task.question)
    return transcript.run()


def run_grep(task: Task, transcript: Transcript, texts: Mapping[str, str]) -> Run:
    """Grep the name or the text, then read the files with most lines."""
    words = [task.name] if task.name else sorted(task.question.split(), key=len, reverse=True)[:2]
    sought = [task.question] if task.kind == "errors" else words
    pattern = "|".join(map(re.escape, sought))
    matcher = re.compile(pattern, re.IGNORECASE)
    lines = [
        f"{file}:{at}:{row}"
        for file, text in texts.items()
        for at, row in enumerate(text.splitlines(), 1)
        if matcher.search(row)
    ]
    grep_and_read(transcript, pattern, lines, texts.__getitem__, without=set())
    return transcript.run()


def describe(name: str, tasks: Sequence[Task], runs: Sequence[Run]) -> str:
    """Return what a client solved, of each kind and within how many tokens."""
    solved = [run.found_at is not None for run in runs]
    kinds = ", ".join(
        f"{kind} {sum(ok for ok, task in zip(solved, tasks, strict=True) if task.kind == kind)}"
        for kind in KINDS
    )
    found = [run.found_at for run in runs if run.found_at is not None]
    within = ", ".join(f"{sum(at <= cut for at in found) / len(runs):.2f} in {cut}" for cut in CUTS)
    tokens = [run.tokens for run in runs]
    cheap = sum(ok and run.tokens < CHEAP for ok, run in zip(solved, runs, strict=True))
    return (
        f"{name}: {sum(solved)} of {len(runs)} solved ({kinds}), {cheap} below {CHEAP} "
        f"tokens; {statistics.mean(tokens):,.0f} tokens in the mean, "
        f"{statistics.median(tokens):,.0f} in the median; answers {within} tokens"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=(CHOOSE, REPORT), default=REPORT)
    parser.add_argument("--show", choices=CLIENTS, help="tasks that a client did not solve")
    given = parser.parse_args()
    count_tokens = load_count_tokens()
    tasks = make_tasks(given.folder, given.half)
    runs: dict[str, list[Run]] = defaultdict(list)
    packages = {package.name: package for package in PACKAGES}
    for task in tasks:
        package = packages[task.package]
        root, _ = prepare(package, given.folder)
        open_index(package, given.folder, {}, "outline").close()
        index = ServedIndex(task.package, given.folder / task.package / "outline.crx")
        service = SearchService([index])
        for name, most in CLIENTS.items():
            transcript = Transcript(task.answers, count_tokens, most_calls=most)
            runs[name].append(run_crx(service, task, transcript))
        service.close()
        texts = {
            str(path.relative_to(root)): path.read_text()
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }
        transcript = Transcript(task.answers, count_tokens, most_calls=3)
        runs["grep and read"].append(run_grep(task, transcript, texts))
        if given.show and runs[given.show][-1].found_at is None:
            print(task)
    for name, own in runs.items():
        print(describe(name, tasks, own))


if __name__ == "__main__":
    main()
