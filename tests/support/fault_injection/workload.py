"""A short life of an index, with marks, in a file elsewhere, of what was reported as committed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import crx
from crx.types import Chunk, Context
from crx_contexts.validate import ContextValidator
from crx_runtimes.fake.contextualizer import Fake
from fault_injection import corpus
from fault_injection.corpus import SETTINGS

DOCUMENTS = 5
PARAGRAPHS = 3
EDITED, REMOVED = 1, 2


class Marks:
    """Marks of what is committed, one write of a JSON line each."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def mark(self, kind: str, what: str) -> None:
        """Write a mark."""
        os.write(self._file, json.dumps([kind, what]).encode() + b"\n")


class MarkingContextualizer(Fake):
    """A contextualizer that marks a context as stored when the next one is asked for."""

    def __init__(self, marks: Marks) -> None:
        super().__init__()
        self._marks = marks
        self._last = ""

    def _situate(self, head: str, chunk: Chunk, validator: ContextValidator) -> Context:
        if self._last:
            self._marks.mark("context", self._last)
        self._last = chunk.text
        return super()._situate(head, chunk, validator)


def live(folder: Path, marks: Marks) -> None:
    """Create an index, and add, contextualize, edit and remove documents."""
    with crx.open(folder, settings=SETTINGS) as index:
        marks.mark("created", "")
        for number in range(DOCUMENTS):
            put(index, number, marks)
        index.contextualize(MarkingContextualizer(marks))
        put(index, EDITED, marks, version=1)
        index.remove(f"mem:{REMOVED}")
        marks.mark("removed", f"mem:{REMOVED}")
        index.gc()
    with crx.open(folder) as index:
        put(index, DOCUMENTS, marks)
    marks.mark("closed", "")


def put(index: crx.Index, number: int, marks: Marks, *, version: int = 0) -> None:
    """Put a document and mark it."""
    text = corpus.text(number, paragraphs=PARAGRAPHS, version=version)
    index.add_documents([crx.Document(f"mem:{number}", text)])
    marks.mark("document", json.dumps([f"mem:{number}", text]))


if __name__ == "__main__":
    live(Path(sys.argv[1]), Marks(Path(sys.argv[2])))
