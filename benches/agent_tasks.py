"""40 tasks of an agent in source packages: which tool answers, in how many tokens.

The packages are the reporting half of `code_search.py`. Ten tasks of each kind are made of them by
ctags, always the same, and answered by lines that are known:

* callers: "what calls NAME": a line that calls a function that is defined once and called in one
  to three files; the answer is the head of the function around the call,
* configuration: "value of max header size": a constant in capitals; the line that defines it,
* errors: the text of an error; the head of the function that raises it,
* tests: "tests of NAME": the name of a test that has the name, in a folder of tests.

The client is a script, without a model. It calls `references` with the name for callers and tests,
`search` with the words for the others, and, if that does not answer, reads the first result by
`fetch` of 40 lines. Beside it a client that greps: the name or the longest words, the first 100
lines, then the two files with most of them, as in `agents.py`. A task is solved when what was read
has the answer. Tokens are those of requests and answers, counted as in `agents.py`.

Told is also the share of answers within the first 500, 1,000 and 2,000 tokens that a client read.

Run: python benches/agent_tasks.py FOLDER

FOLDER is that of `code_search.py`; universal-ctags is needed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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
from tokenizers import Tokenizer

from crx.models.store import find_model
from crx_serve.mcp.tools import READING
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService

KINDS = ("callers", "configuration", "errors", "tests")
TASKS_OF_A_KIND = 10
MOST_CALLS = 2
CUTS = (500, 1_000, 2_000)
GREP_LINES, GREP_COLUMNS, READ_LINES, MOST_CHARS = 100, 300, 2_000, 100_000
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


@dataclass(frozen=True, slots=True)
class Run:
    """What a client read for a task: the tokens after each call, and those up to the answer."""

    calls: int
    tokens: int
    found_at: int | None


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


class Transcript:
    """What a client has read, and where the answer is in it."""

    def __init__(self, task: Task, count_tokens: Callable[[str], int]) -> None:
        self._answers = [_squeeze(each) for each in task.answers]
        self._count = count_tokens
        self.calls = self.tokens = 0
        self.found_at: int | None = None

    def add(self, request: str, answer: str) -> None:
        """Add a call and its answer."""
        self.calls += 1
        before = self.tokens + self._count(request)
        answer = answer[:MOST_CHARS]
        self.tokens = before + self._count(answer)
        if self.found_at is None and any(each in _squeeze(answer) for each in self._answers):
            parts = answer.split("\\n") if "\\n" in answer else answer.split("\n")
            read = ""
            for part in parts:
                read += part + "\n"
                if any(each in _squeeze(read) for each in self._answers):
                    self.found_at = before + self._count(read)
                    break
            else:
                self.found_at = self.tokens


def _squeeze(text: str) -> str:
    return re.sub(r'\\[nt"]|[\s"\\]+', "", text)


def run_crx(service: SearchService, task: Task, transcript: Transcript, *, most: int) -> Run:
    """Call the tool of the kind of task, then read the first results."""
    tools = {tool.name: tool for tool in READING}

    def call(name: str, arguments: dict[str, object]) -> dict[str, object]:
        answer = tools[name].call(service, arguments, lambda *_: None)
        text = "".join(getattr(content, "text", "") for content in answer.content)
        transcript.add(json.dumps({"name": name, "arguments": arguments}), text)
        return json.loads(text) if text.startswith("{") else {}

    if task.name:
        call("references", {"name": task.name})
    found = None
    while transcript.found_at is None and transcript.calls < most:
        if found is None:
            found = call("search", {"query": task.question})
            continue
        results = found.get("results") or [{}]
        at = transcript.calls - 1 - bool(task.name)
        if not isinstance(results, list) or at >= len(results):
            break
        line = re.search(r"#L(\d+)", results[at].get("url", ""))
        first = max(1, int(line[1]) - 20) if line else 1
        call("fetch", {"id": results[at]["id"], "lines": f"{first}-{first + 40}"})
    return Run(transcript.calls, transcript.tokens, transcript.found_at)


def run_grep(root: Path, task: Task, transcript: Transcript, texts: dict[str, str]) -> Run:
    """Grep the name or the text, then read the files with most lines."""
    words = [task.name] if task.name else sorted(task.question.split(), key=len, reverse=True)[:2]
    pattern = task.question if task.kind == "errors" else "|".join(map(re.escape, words))
    matcher = re.compile(re.escape(pattern) if task.kind == "errors" else pattern, re.IGNORECASE)
    lines = [
        f"{file}:{at}:{row}"[:GREP_COLUMNS]
        for file, text in texts.items()
        for at, row in enumerate(text.splitlines(), 1)
        if matcher.search(row)
    ][:GREP_LINES]
    transcript.add(json.dumps({"name": "grep", "pattern": pattern}), "\n".join(lines))
    files = Counter(line.split(":", 1)[0] for line in lines)
    for file, _ in files.most_common(MOST_CALLS):
        if transcript.found_at is not None:
            break
        read = "\n".join(texts[file].splitlines()[:READ_LINES])
        transcript.add(json.dumps({"name": "read", "path": str(root / file)}), read)
    return Run(transcript.calls, transcript.tokens, transcript.found_at)


def describe(name: str, tasks: Sequence[Task], runs: Sequence[Run]) -> str:
    """Return what a client solved, of each kind and within how many tokens."""
    solved = [run.found_at is not None for run in runs]
    kinds = ", ".join(
        f"{kind} {sum(ok for ok, task in zip(solved, tasks, strict=True) if task.kind == kind)}"
        for kind in KINDS
    )
    found = [run.found_at for run in runs if run.found_at is not None]
    within = ", ".join(f"{sum(at <= cut for at in found) / len(runs):.2f} in {cut}" for cut in CUTS)
    tokens = statistics.mean(run.tokens for run in runs)
    return (
        f"{name}: {sum(solved)} of {len(runs)} solved ({kinds}), {tokens:,.0f} tokens in the mean, "
        f"{statistics.median(run.tokens for run in runs):,.0f} in the median; "
        f"answers {within} tokens"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=(CHOOSE, REPORT), default=REPORT)
    parser.add_argument("--show", action="store_true", help="tasks that one call did not solve")
    given = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(find_model("crx") / "tokenizer.json"))

    def count_tokens(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    tasks = make_tasks(given.folder, given.half)
    runs: dict[str, list[Run]] = defaultdict(list)
    packages = {package.name: package for package in PACKAGES}
    for task in tasks:
        package = packages[task.package]
        root, _ = prepare(package, given.folder)
        open_index(package, given.folder, {}, "outline").close()
        index = ServedIndex(task.package, given.folder / task.package / "outline.crx")
        service = SearchService([index])
        for name, most in (("crx, one call", 1), ("crx, two calls", 2), ("crx, four calls", 4)):
            runs[name].append(run_crx(service, task, Transcript(task, count_tokens), most=most))
        service.close()
        texts = {
            str(path.relative_to(root)): path.read_text()
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }
        runs["grep and read"].append(run_grep(root, task, Transcript(task, count_tokens), texts))
        if given.show and runs["crx, one call"][-1].found_at is None:
            print(task)
    for name, own in runs.items():
        print(describe(name, tasks, own))


if __name__ == "__main__":
    main()
