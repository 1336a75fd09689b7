"""Tokens and calls of an agent that searches with crx beside one that greps and reads.

20 tasks over the documentation and the sources of this project. Each is a question, and one or two
quotes that answer it. Both clients are scripts, without a model, and stop as soon as they have read
a quote:

* crx: the tool `search` with the question; then `fetch` of the lines around the results, best
  first: 15 lines before and 25 after the one that the URL names.
* grep: `grep` for each word of the question but function words, the longest first, the first 100
  lines as path:line:text, each cut to 300 characters; then `read` of the two files with most of
  these lines, up to 2,000 lines of each.

Both give up after eight calls, and get at most 100,000 characters of an answer, as many clients cut
it. Tokens are those of requests and answers, counted by the tokenizer of the reranker that crx
includes, which takes each quote and bracket as one.

Run: python benches/agents.py FOLDER [--embedder none]

It makes an index in FOLDER, and needs ripgrep.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import run_ripgrep, write_results
from tokenizers import Tokenizer

import crx
from crx.models.store import find_model
from crx.retrieve.query.spelling import find_function_words
from crx_serve.mcp.tools import READING
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService

ROOT = Path(__file__).parent.parent
# What a checkout has for readers: without tests, benchmarks, and what is built.
SOURCES = ("ARCHITECTURE.md", "README.md", "docs", "python", "rust")
MOST_CALLS = 8
GREP_LINES, READ_LINES = 100, 2_000
GREP_COLUMNS, MOST_CHARS = 300, 100_000
BEFORE, AFTER = 15, 25

# Each a question, and quotes of which one answers it.
TASKS: tuple[tuple[str, ...], ...] = (
    (
        "what happens to a word of the query that no document has",
        "spelled like it: a word of",
        "words of the query that no document has, replaced by words that one has",
    ),
    (
        "how many milliseconds may reranking take",
        "milliseconds that reranking may take",
        "at most 300 milliseconds",
    ),
    (
        "what does the lock of a writer record",
        "with its process id, host and start time",
        "content of the file is only used in the error message",
    ),
    ("above how many rows does a graph replace the exact search", "rows above which a graph"),
    (
        "where are contexts written by models kept a second time",
        "there is a second copy of them",
        "a second copy of what costs the most",
    ),
    (
        "limit of the memory for reading a PDF",
        "memory that reading one of them may take",
        "--set read_memory_mb=",
    ),
    ("which environment variable refuses the network", "refuse everything that needs the network"),
    (
        "are British and American spellings one term",
        "British and American spellings are",
        "Spellings of one word that become one: British and American",
    ),
    (
        "how much do function words of a query weigh",
        "Function words of a query weigh",
        "therefore has a quarter of the weight",
    ),
    ("find_phrases", "def find_phrases("),
    ("UNREAD_WEIGHT", "UNREAD_WEIGHT = "),
    ("why is python-docx not used for Word files", "content controls, of tracked insertions"),
    (
        "how is the session cookie of the page made",
        "the cookie is one HMAC of the token",
        'b"session of the page"',
    ),
    ("how many words has a text fragment", "Words of a fragment: enough to be found"),
    ("which hits does min_relevance drop", "reranked hits that score less are dropped"),
    (
        "key that opens the original on the page",
        "| `o` | open the original |",
        "function openOriginal()",
    ),
    (
        "reading a damaged database without SQLite",
        "pages of a damaged database without SQLite",
        "the rows of a database that SQLite cannot open",
    ),
    ("formula of weighted reciprocal rank fusion", "`(rrf_k + 1) / (rrf_k + rank)`"),
    ("which function returns the chunks that have no vector yet", "def without_vector("),
    ("can crx add a folder from the page", "--allow-add"),
)


@dataclass(frozen=True, slots=True)
class Run:
    """What a client needed for a task: whether it read the quote, its calls and their tokens."""

    found: bool
    calls: int
    tokens: int


class Transcript:
    """The requests and answers of a client, until it has read a quote or given up."""

    def __init__(self, quotes: Sequence[str], count_tokens: Callable[[str], int]) -> None:
        self._quotes = [squeeze(quote) for quote in quotes]
        self._count_tokens = count_tokens
        self.found = False
        self.calls = 0
        self.tokens = 0

    @property
    def is_over(self) -> bool:
        return self.found or self.calls >= MOST_CALLS

    def add(self, request: str, answer: str) -> None:
        """Add a call; the client has read its answer."""
        self.calls += 1
        answer = answer[:MOST_CHARS]
        self.tokens += self._count_tokens(request) + self._count_tokens(answer)
        read = squeeze(answer)
        self.found = self.found or any(quote in read for quote in self._quotes)

    def result(self) -> Run:
        return Run(self.found, self.calls, self.tokens)


def squeeze(text: str) -> str:
    """Return a text without white space, as JSON escapes it or not, and without quotes."""
    return re.sub(r'\\[nt"]|[\s"]+', "", text)


def run_crx(service: SearchService, question: str, transcript: Transcript) -> Run:
    """Search, then read around the results, best first."""
    tools = {tool.name: tool for tool in READING}

    def call(name: str, arguments: dict[str, object]) -> str:
        answer = tools[name].call(service, arguments, lambda *_: None)
        (content,) = answer.content
        text = getattr(content, "text", "")
        transcript.add(json.dumps({"name": name, "arguments": arguments}), text)
        return text

    results = json.loads(call("search", {"query": question})).get("results", [])
    for each in results:
        if transcript.is_over:
            break
        line = re.search(r"#L(\d+)", each["url"])
        first = max(1, int(line[1]) - BEFORE) if line else 1
        call("fetch", {"id": each["id"], "lines": f"{first}-{first + BEFORE + AFTER}"})
    return transcript.result()


def run_grep(question: str, transcript: Transcript) -> Run:
    """Grep each word, then read the file with most lines that have it."""
    read: set[str] = set()
    for word in grep_words(question):
        options = ["--line-number", "--ignore-case", "--no-heading", "--sort=path"]
        found = run_ripgrep(*options, "--", word, *SOURCES, folder=ROOT)
        lines = [line[:GREP_COLUMNS] for line in found.splitlines()[:GREP_LINES]]
        transcript.add(json.dumps({"name": "grep", "pattern": word}), "\n".join(lines))
        files = Counter(line.split(":", 1)[0] for line in lines)
        for path in [name for name, _ in files.most_common() if name not in read][:2]:
            if transcript.is_over:
                return transcript.result()
            read.add(path)
            text = (ROOT / path).read_text(encoding="utf-8").splitlines()[:READ_LINES]
            transcript.add(json.dumps({"name": "read", "path": path}), "\n".join(text))
        if transcript.is_over:
            break
    return transcript.result()


def grep_words(question: str) -> list[str]:
    """Return the words of a question that one would grep for, the longest first."""
    words = dict.fromkeys(re.findall(r"[\w-]{3,}", question))
    function_words = find_function_words(question, ["en"])
    return sorted(
        (each for each in words if each.lower() not in function_words), key=len, reverse=True
    )


def summarize(name: str, runs: list[Run]) -> dict[str, float]:
    """Print and return the tasks that were solved, and calls and tokens of all tasks."""
    figures = {
        "solved": sum(each.found for each in runs),
        "calls": statistics.mean(each.calls for each in runs),
        "tokens": statistics.mean(each.tokens for each in runs),
        "median_tokens": statistics.median(each.tokens for each in runs),
    }
    print(
        f"{name}: {figures['solved']} of {len(runs)} solved, {figures['calls']:.1f} calls and "
        f"{figures['tokens']:,.0f} tokens a task in the mean, {figures['median_tokens']:,.0f} in "
        "the median"
    )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embedder", default="e5@int8", help="of the index; default: e5@int8")
    parser.add_argument("--json", default="", metavar="FILE", help="write the figures to FILE")
    arguments = parser.parse_args()
    folder = arguments.folder / "agents.crx"
    with crx.open(folder, settings={"embedder": arguments.embedder}) as index:
        index.add([ROOT / name for name in SOURCES])
    tokenizer = Tokenizer.from_file(str(find_model("crx") / "tokenizer.json"))

    def count_tokens(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    service = SearchService([ServedIndex("sources", folder)])
    service.warm()
    ours, theirs = [], []
    for question, *quotes in TASKS:
        ours.append(run_crx(service, question, Transcript(quotes, count_tokens)))
        theirs.append(run_grep(question, Transcript(quotes, count_tokens)))
        print(f"{question}: crx {ours[-1]}, grep {theirs[-1]}")
    service.close()
    figures = {"crx": summarize("crx", ours), "grep and read": summarize("grep and read", theirs)}
    if arguments.json:
        write_results(arguments.json, benchmark="agents, 20 tasks", rounds=1, figures=figures)


if __name__ == "__main__":
    main()
