"""Counts of a build: progress while it runs, and the report it ends with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Counted = Literal[
    "added",
    "changed",
    "unchanged",
    "renamed",
    "removed",
    "kept",
    "skipped",
    "ignored",
    "chunks",
    "embedded",
    "windowed",
]


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that could not be read, and why."""

    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that was met and not indexed, and why."""

    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is: documents of those found, chunks put, texts embedded, failures."""

    documents: int = 0
    found: int = 0
    chunks: int = 0
    embedded: int = 0
    failed: int = 0
    uri: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a build did.

    `added` to `removed` count documents, `kept` those whose file or folder cannot be read now.
    `skipped` counts links, special files, and files without text whose name does not promise any;
    `ignored` counts files and folders that a rule leaves out. `chunks` counts chunks put,
    `embedded` texts embedded, and `windowed` the texts that were longer than the embedder's window.
    `contexts` counts, by outcome, the contexts that a file of contexts gave.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    renamed: int = 0
    removed: int = 0
    kept: int = 0
    skipped: int = 0
    ignored: int = 0
    chunks: int = 0
    embedded: int = 0
    windowed: int = 0
    failures: tuple[Failure, ...] = ()
    contexts: Mapping[str, int] = field(default_factory=dict)


class Tally:
    """The counts of a running build; each change is passed to `on_progress`."""

    def __init__(self, on_progress: Callable[[Progress], None] | None = None) -> None:
        self.report = Report()
        self._progress = Progress()
        self._on_progress = on_progress

    def count(self, name: Counted, more: int = 1) -> None:
        """Add to a count of the report."""
        self.report = replace(self.report, **{name: getattr(self.report, name) + more})
        if name in ("chunks", "embedded"):
            self._show()

    def count_contexts(self, outcomes: Mapping[str, int]) -> None:
        """Add to the counts of contexts by outcome."""
        total = Counter(self.report.contexts) + Counter(outcomes)
        self.report = replace(self.report, contexts=dict(total))

    def fail(self, failure: Failure) -> None:
        """Add an input that could not be read."""
        self.report = replace(self.report, failures=(*self.report.failures, failure))
        self._show()

    def expect(self, documents: int) -> None:
        """Set how many documents were found."""
        self._progress = replace(self._progress, found=documents)
        self._show()

    def finish(self, uri: str) -> None:
        """Count a document as done, whatever became of it."""
        self._progress = replace(self._progress, documents=self._progress.documents + 1, uri=uri)
        self._show()

    def _show(self) -> None:
        self._progress = replace(
            self._progress,
            chunks=self.report.chunks,
            embedded=self.report.embedded,
            failed=len(self.report.failures),
        )
        if self._on_progress is not None:
            self._on_progress(self._progress)
