"""Counts of a build: progress while it runs, and the report it ends with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from crx.ingest.chunk_estimate import ChunkEstimate

_Counted = Literal[
    "added",
    "changed",
    "unchanged",
    "renamed",
    "removed",
    "kept",
    "skipped",
    "failed_before",
    "ignored",
    "chunks",
    "embedded",
    "windowed",
]
# What became of a document: the counts that say it, or that it could not be read.
Outcome = Literal["added", "changed", "unchanged", "renamed", "skipped", "failed"]
# What a build does first with all documents, and then with all chunks.
Step = Literal["read", "embed"]
_OUTCOMES: tuple[Outcome, ...] = ("added", "changed", "unchanged", "renamed", "skipped")


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that could not be read, and why."""

    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that was met and not indexed, and why.

    For a file that was read, `stamp` says what was read and by which readers; see `FilePass`. One
    that a rule leaves out, such as a `.gitignore`, is ignored.
    """

    uri: str
    reason: str
    stamp: str = ""
    is_ignored: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is: documents of those found, chunks put, texts embedded, failures.

    `uri` and `outcome` are those of the document that was finished last, "" before the first.
    `step` is "read" until every document is put and can be found by its words, and then "embed".
    `chunks_done` of `chunks_total` are those of the step: chunks that were put, of a total that is
    estimated from the sizes and kinds of unread files; then chunks that need no vector any more.
    """

    documents: int = 0
    found: int = 0
    chunks: int = 0
    embedded: int = 0
    failed: int = 0
    uri: str = ""
    outcome: Outcome | Literal[""] = ""
    chunks_done: int = 0
    chunks_total: int = 0
    step: Step = "read"


@dataclass(frozen=True, slots=True)
class Report:
    """What a build did.

    `added` to `removed` count files, or documents of `add_documents`; `kept` those of an earlier
    build that cannot be read now, or are kept though they are gone.
    `skipped` counts links, special files, files without text whose name does not promise any, and
    those that were read and have none.
    `failed_before` counts files that fail as they did in an earlier build, which `failures` lacks.
    `ignored` counts files and folders that a rule leaves out. `chunks` counts chunks put,
    `embedded` texts embedded, and `windowed` the texts that were longer than the embedder's window.
    `pending` counts the chunks of the index that still lack their vector.
    `contexts` counts, by outcome, the contexts that a file of contexts gave.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    renamed: int = 0
    removed: int = 0
    kept: int = 0
    skipped: int = 0
    failed_before: int = 0
    ignored: int = 0
    chunks: int = 0
    embedded: int = 0
    windowed: int = 0
    pending: int = 0
    failures: tuple[Failure, ...] = ()
    contexts: Mapping[str, int] = field(default_factory=dict)


class Tally:
    """The counts of a running build; each change is passed to `on_progress`."""

    def __init__(self, on_progress: Callable[[Progress], None] | None = None) -> None:
        self._on_progress = on_progress
        self._counts: Counter[str] = Counter()
        self._failures: list[Failure] = []
        self._contexts: Counter[str] = Counter()
        self._documents = self._found = self._pending = 0
        # What became of the last document, and the last that is finished.
        self._outcome: Outcome | Literal[""] = ""
        self._finished: tuple[str, Outcome | Literal[""]] = ("", "")
        self._step: Step = "read"
        self._pending_before = 0
        self._waiting = 0
        self._unread = ChunkEstimate({})
        self._chunks_before = 0

    @property
    def report(self) -> Report:
        """What was done so far."""
        return Report(
            **self._counts,
            pending=self._pending,
            failures=tuple(self._failures),
            contexts=dict(self._contexts),
        )

    def count(self, name: _Counted, more: int = 1) -> None:
        """Add to a count of the report."""
        self._counts[name] += more
        self._outcome = next((each for each in _OUTCOMES if each == name), self._outcome)
        if name == "chunks":
            self._waiting += more
        if name in ("chunks", "embedded"):
            self._show()

    def count_contexts(self, outcomes: Mapping[str, int]) -> None:
        """Add to the counts of contexts by outcome."""
        self._contexts += Counter(outcomes)

    def fail(self, failure: Failure) -> None:
        """Add an input that could not be read."""
        self._failures.append(failure)
        self._outcome = "failed"
        self._show()

    def start(self, pending: int) -> None:
        """Set how many chunks wait for their vectors before the build."""
        self._pending_before = self._waiting = pending

    def expect(self, documents: int, *, unread: ChunkEstimate) -> None:
        """Set how many documents were found, and how many chunks those to be read will make."""
        self._unread = unread
        self._found = documents
        self._show()

    def finish(self, uri: str, *, size: int = 0) -> None:
        """Count a document as done, whatever became of it, and its bytes if they had to be read."""
        made = self._counts["chunks"] - self._chunks_before
        self._chunks_before = self._counts["chunks"]
        if size:
            self._unread.note_read(uri, size=size, chunks=made)
        self._documents += 1
        self._finished = (uri, self._outcome)
        self._show()

    def begin_embedding(self) -> None:
        """Note that all documents are put."""
        self._step = "embed"

    def wait(self, chunks: int) -> None:
        """Set how many chunks wait for their vectors."""
        self._waiting = self._pending = chunks
        self._show()

    def _show(self) -> None:
        if self._on_progress is None:
            return
        chunks = self._counts["chunks"]
        if self._step == "read":
            done, total = chunks, chunks + self._unread.count()
        else:
            total = self._pending_before + chunks
            done = total - self._waiting
        uri, outcome = self._finished
        self._on_progress(
            Progress(
                self._documents, self._found, chunks, self._counts["embedded"],
                len(self._failures), uri, outcome, done, total, self._step,
            )
        )  # fmt: skip
