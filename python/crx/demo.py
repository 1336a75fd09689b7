"""`make demo`: index files that are on every machine, ask three questions, print passages.

The files are this repository's own sources and documents, where it is there, and some of the
standard library's sources.
"""

from __future__ import annotations

import sysconfig
import tempfile
import time
from pathlib import Path

from crx import index as handle
from crx.cli.index import summary
from crx.cli.output import progress, say
from crx.cli.search import print_passage

OWN = ("README.md", "ARCHITECTURE.md", "rust", "python")
LIBRARY = ("json", "sqlite3", "tempfile.py", "textwrap.py", "shutil.py", "heapq.py", "bisect.py")
# A tokenizer's file is text, but not to be read.
NOT_OWN = ("shipped/",)
QUESTIONS = (
    "how is a temporary file name chosen so that nobody else can take it?",
    "where are two rankings fused, and how are ties broken?",
    "how does a JSON decoder report the line and column of an error?",
)
PASSAGES_SHOWN = 2


def main() -> None:
    """Run the demonstration in a temporary folder."""
    library = Path(sysconfig.get_paths()["stdlib"])
    root = Path(__file__).parent.parent.parent
    own = [root / name for name in OWN] if (root / "Cargo.toml").is_file() else []
    places = own + [library / name for name in LIBRARY]
    with (
        tempfile.TemporaryDirectory(prefix="crx-demo-") as folder,
        handle.open(Path(folder) / "demo.crx") as index,
    ):
        started = time.perf_counter()
        with progress() as show:
            report = index.add(*places, exclude=NOT_OWN, on_progress=show)
        say(f"indexed in {time.perf_counter() - started:.1f} s: {summary(report)}\n")
        for question in QUESTIONS:
            started = time.perf_counter()
            result = index.search(question, window=1)
            say(f"? {question}  [{1000 * (time.perf_counter() - started):.0f} ms]\n")
            for rank, passage in enumerate(result[:PASSAGES_SHOWN], start=1):
                print_passage(rank, passage)


if __name__ == "__main__":
    main()
