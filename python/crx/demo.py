"""Demonstration for `make demo`: index some files and print passages for three questions.

The files are the sources and documents of this repository, if crx runs from it, and some modules
of the standard library.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from crx.cli.copies import fold_copies
from crx.cli.index import summarize
from crx.cli.output import display_path, print_line
from crx.cli.passages import print_passages
from crx.cli.progress import show_build
from crx.index import handle

REPOSITORY_PATHS = ("README.md", "ARCHITECTURE.md", "rust", "python")
LIBRARY_PATHS = (
    "json",
    "sqlite3",
    "tempfile.py",
    "textwrap.py",
    "shutil.py",
    "heapq.py",
    "bisect.py",
)
# The tokenizer of the shipped model is text, but not worth searching.
EXCLUDED = ("shipped/", "demo.py")
QUESTIONS = (
    "how is a temporary file name chosen so that nobody else can take it?",
    "where are two rankings fused, and how are ties broken?",
    "how does a JSON decoder report the line and column of an error?",
)
PASSAGES_SHOWN = 2


def main() -> None:
    """Run the demonstration, and print the commands that go on with its index."""
    library = Path(sysconfig.get_paths()["stdlib"])
    root = Path(__file__).parent.parent.parent
    repository = (
        [root / name for name in REPOSITORY_PATHS] if (root / "Cargo.toml").is_file() else []
    )
    paths = repository + [library / name for name in LIBRARY_PATHS]
    place = root / "build" / "demo.crx" if repository else Path(tempfile.mkdtemp()) / "demo.crx"
    # What an earlier demonstration left behind.
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(exist_ok=True)
    with handle.open(place) as index:
        started = time.perf_counter()
        with show_build() as show:
            report = index.add(*paths, exclude=EXCLUDED, on_progress=show)
        print_line(f"indexed in {time.perf_counter() - started:.1f} s: {summarize(report)}")
        print_line()
        for question in QUESTIONS:
            started = time.perf_counter()
            result = index.search(question, window=1)
            print_line(f"? {question}  [{1000 * (time.perf_counter() - started):.0f} ms]")
            print_line()
            print_passages(fold_copies(result.passages)[:PASSAGES_SHOWN], query=question)
    for line in next_commands(place):
        print_line(line)


def next_commands(place: Path) -> list[str]:
    """Return how to go on with the index: on the command line, over HTTP, from a model's client."""
    crx = display_path(Path(sys.executable).with_name("crx"))
    index = display_path(place)
    body = """'{"query": "temporary file"}'"""
    return [
        f"The index is {index}. It can also be reached by",
        f"  API   {crx} serve {index}",
        f"        curl localhost:8000/v1/search -H 'Content-Type: application/json' -d {body}",
        "  page  http://127.0.0.1:8000/ of that server",
        f"  MCP   {crx} mcp --index {index}, or http://127.0.0.1:8000/mcp of that server",
    ]


if __name__ == "__main__":
    main()
