"""Shared parts of the benchmarks of agents: what a client reads, in tokens, and its two kinds.

A client is a script, without a model. Tokens are those of requests and answers, counted by the
tokenizer of the reranker that crx includes, which takes each quote and bracket as one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from crx._models.store import find_model
from crx_serve.mcp.tools import READING
from crx_serve.service import SearchService

# What a client gets of an answer: characters, lines of grep and their columns, lines of a file.
MOST_CHARS = 100_000
GREP_LINES, GREP_COLUMNS, READ_LINES = 100, 300, 2_000
BEFORE, AFTER = 15, 25

CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Run:
    """What a client read for a task: its calls and their tokens, and those up to the answer."""

    calls: int
    tokens: int
    found_at: int | None


class Transcript:
    """The calls of a client, until it has read one of some texts or made as many as it may."""

    def __init__(
        self, answers: Sequence[str], count_tokens: CountTokens, *, most_calls: int
    ) -> None:
        self._answers = [squeeze(each) for each in answers]
        self._count = count_tokens
        self._most_calls = most_calls
        self._calls = self._tokens = 0
        self._found_at: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether the client stops."""
        return self._found_at is not None or self._calls >= self._most_calls

    def add(self, request: str, answer: str) -> None:
        """Add a call and its answer, which the client has read."""
        self._calls += 1
        answer = answer[:MOST_CHARS]
        before = self._tokens + self._count(request)
        self._tokens = before + self._count(answer)
        if self._found_at is None and self._has_answer(answer):
            self._found_at = before + self._count(self._read_first(answer))

    def run(self) -> Run:
        """Return what the client has read."""
        return Run(self._calls, self._tokens, self._found_at)

    def _read_first(self, answer: str) -> str:
        """Return the lines of a text down to the one with which it has an answer."""
        lines = re.split(r"(?<=\n)|(?<=\\n)", answer)
        first = next(at for at in range(1, len(lines) + 1) if self._has_answer("".join(lines[:at])))
        return "".join(lines[:first])

    def _has_answer(self, text: str) -> bool:
        read = squeeze(text)
        return any(each in read for each in self._answers)


def squeeze(text: str) -> str:
    r"""Return a text without white space, quotes and backslashes, as JSON escapes it or not."""
    return re.sub(r'\\[nt"]|[\s"\\]+', "", text)


def load_count_tokens() -> CountTokens:
    """Return the function that counts the tokens of a text."""
    tokenizer = Tokenizer.from_file(str(find_model("crx") / "tokenizer.json"))
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def call_tool(
    service: SearchService, transcript: Transcript, name: str, arguments: Mapping[str, object]
) -> dict[str, object]:
    """Call a tool of crx and return its answer, {} for an error."""
    (tool,) = (each for each in READING if each.name == name)
    (content,) = tool.call(service, arguments, lambda *_: None).content
    text = getattr(content, "text", "")
    transcript.add(json.dumps({"name": name, "arguments": arguments}), text)
    return json.loads(text) if text.startswith("{") else {}


def search_and_fetch(service: SearchService, transcript: Transcript, question: str) -> None:
    """Search, then read the lines around the results, best first."""
    results = call_tool(service, transcript, "search", {"query": question}).get("results")
    for each in results if isinstance(results, list) else []:
        if transcript.is_over:
            return
        line = re.search(r"#L(\d+)", each["url"])
        first = max(1, int(line[1]) - BEFORE) if line else 1
        lines = f"{first}-{first + BEFORE + AFTER}"
        call_tool(service, transcript, "fetch", {"id": each["id"], "lines": lines})


def grep_and_read(
    transcript: Transcript,
    pattern: str,
    lines: Sequence[str],
    read: Callable[[str], str],
    *,
    without: set[str],
) -> None:
    """Read the first of the lines `path:line:text` that grep found, then two of their files.

    The files are those with most lines; those in `without` are left out, and put there once read.
    """
    shown = [line[:GREP_COLUMNS] for line in lines[:GREP_LINES]]
    transcript.add(json.dumps({"name": "grep", "pattern": pattern}), "\n".join(shown))
    files = Counter(line.split(":", 1)[0] for line in shown)
    for file in [name for name, _ in files.most_common() if name not in without][:2]:
        if transcript.is_over:
            return
        without.add(file)
        text = "\n".join(read(file).splitlines()[:READ_LINES])
        transcript.add(json.dumps({"name": "read", "path": file}), text)
