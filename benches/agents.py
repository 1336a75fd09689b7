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
it. Tokens are counted as `agent_client.py` says.

Run: python benches/agents.py FOLDER [--embedder none]

It makes an index in FOLDER, and needs ripgrep.
"""

from __future__ import annotations

import argparse
import re
import statistics
from pathlib import Path

from agent_client import Run, Transcript, grep_and_read, load_count_tokens, search_and_fetch
from harness import run_ripgrep, write_results

import crx
from crx.retrieve._query.spelling import find_function_words
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService

ROOT = Path(__file__).parent.parent
# What a checkout has for readers: without tests, benchmarks, and what is built.
SOURCES = ("ARCHITECTURE.md", "README.md", "docs", "python", "rust")
MOST_CALLS = 8

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
    ("why is python-docx not used for Word files", "python-docx lacks content controls"),
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


def run_crx(service: SearchService, question: str, transcript: Transcript) -> Run:
    """Search, then read around the results, best first."""
    search_and_fetch(service, transcript, question)
    return transcript.run()


def run_grep(question: str, transcript: Transcript) -> Run:
    """Grep each word, then read the files with most lines that have it."""
    read: set[str] = set()
    options = ["--line-number", "--ignore-case", "--no-heading", "--sort=path"]
    for word in grep_words(question):
        if transcript.is_over:
            break
        found = run_ripgrep(*options, "--", word, *SOURCES, folder=ROOT)
        grep_and_read(transcript, word, found.splitlines(), _read, without=read)
    return transcript.run()


def _read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


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
        "solved": sum(each.found_at is not None for each in runs),
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
    count_tokens = load_count_tokens()
    service = SearchService([ServedIndex("sources", folder)])
    service.warm()
    ours, theirs = [], []
    for question, *quotes in TASKS:
        transcripts = [Transcript(quotes, count_tokens, most_calls=MOST_CALLS) for _ in range(2)]
        ours.append(run_crx(service, question, transcripts[0]))
        theirs.append(run_grep(question, transcripts[1]))
        print(f"{question}: crx {ours[-1]}, grep {theirs[-1]}")
    service.close()
    figures = {"crx": summarize("crx", ours), "grep and read": summarize("grep and read", theirs)}
    if arguments.json:
        write_results(arguments.json, benchmark="agents, 20 tasks", rounds=1, figures=figures)


if __name__ == "__main__":
    main()
