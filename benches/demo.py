"""Demonstration for `make demo`: index some files and print passages for three questions.

The files are those of this repository and modules of the standard library: about 400 chunks, which
are embedded in less than a minute.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

from crx._cli.output import display_path, print_line
from crx._cli.passages import choose_shown, layout_passages
from crx._cli.progress import show_build
from crx._cli.screen import own_screen
from crx._index import handle
from crx._show.copies import fold_copies
from crx.types import LEGS, Leg

REPOSITORY_PATHS = (
    "README.md",
    "docs/explanation",
    "docs/guides/contexts.md",
    "docs/guides/models.md",
    "docs/guides/python.md",
    "docs/guides/storage.md",
    "docs/tutorial.md",
    "python/crx/retrieve/fusion.py",
)
_LIBRARY_PATHS = ("json/decoder.py", "tempfile.py", "textwrap.py")
QUESTIONS = (
    "how is a temporary file name chosen so that nobody else can take it?",
    "where are two rankings fused, and how are ties broken?",
    "how does a JSON decoder report the line and column of an error?",
)
_PASSAGES_SHOWN = 2


def main() -> None:
    """Run the demonstration, and print the commands that go on with its index."""
    library = Path(sysconfig.get_paths()["stdlib"])
    root = Path(__file__).parent.parent
    paths = [root / name for name in REPOSITORY_PATHS]
    paths += [library / name for name in _LIBRARY_PATHS]
    index_path = root / "build" / "demo.crx"
    # What an earlier demonstration left behind.
    shutil.rmtree(index_path, ignore_errors=True)
    index_path.parent.mkdir(exist_ok=True)
    with handle.open(index_path) as index:
        started = time.perf_counter()
        with show_build() as show:
            index.add(*paths, words_only=True, on_progress=show)
        seconds = time.perf_counter() - started
        counts = index.status().counts
        counted = f"{counts['documents']} files, {counts['chunks']} chunks"
        print_line(f"{counted} can be searched by their words: {seconds:.1f} s")
        print_line()
        ask(index, QUESTIONS[0], legs=["bm25"])
        started = time.perf_counter()
        with show_build() as show:
            index.embed(on_progress=show)
        seconds = time.perf_counter() - started
        print_line(f"and by their meaning, too: {seconds:.1f} s")
        print_line()
        for question in QUESTIONS:
            ask(index, question)
    for line in next_commands(index_path):
        print_line(line)


def ask(index: handle.Index, question: str, *, legs: Sequence[Leg] = LEGS) -> None:
    """Print a question, the time that its search took, and the best passages."""
    started = time.perf_counter()
    result = index.search(question, legs=legs, window=1)
    print_line(f"? {question}  [{1000 * (time.perf_counter() - started):.0f} ms]")
    print_line()
    found = fold_copies(result.passages, query=question)[:_PASSAGES_SHOWN]
    screen = own_screen()
    print(*layout_passages(choose_shown(found, screen), query=question, screen=screen)[0], sep="\n")
    print_line()


def next_commands(index_path: Path) -> list[str]:
    """Return how to go on with the index: on the command line, over HTTP, from a model's client."""
    crx = display_path(Path(sys.executable).with_name("crx"))
    index = display_path(index_path)
    body = """'{"query": "temporary file"}'"""
    return [
        "Your own files:",
        f"  {crx} index FOLDER --index notes.crx",
        f'  {crx} search "QUESTION" --index notes.crx',
        f"The index of this demonstration is {index}. It can also be reached by",
        f"  API   {crx} serve {index}",
        f"        curl localhost:8000/v1/search -H 'Content-Type: application/json' -d {body}",
        "  page  http://127.0.0.1:8000/ of that server",
        f"  MCP   {crx} mcp --index {index}, or http://127.0.0.1:8000/mcp of that server",
    ]


if __name__ == "__main__":
    main()
