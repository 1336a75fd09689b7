"""The words of crx, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

Scalar = str | int | float | bool
MarkKind = Literal["heading", "definition", "page"]
ContextStatus = Literal["ok", "retried", "rejected", "failed"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled span of a document's text.

    A heading's span is the section it opens (to the next heading of its level or above), a
    definition's is the whole definition, a page's the page. `level` is 1 for the outermost
    heading or definition; 0 for pages. Offsets are code points, half open.
    """

    kind: MarkKind
    start: int
    end: int
    label: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """One source text: its URI, normalized text, title, language and metadata.

    `chunks` are spans that must be used as they are, when the source brings them. `title` comes
    from the content, and is "" where the content has none: a renamed file keeps its title. Where it
    comes from the file's name, the metadata has a `title_from`.
    """

    uri: str
    text: str
    title: str = ""
    lang: str = ""
    metadata: Mapping[str, Scalar | list[Scalar]] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    chunks: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of one document: `document.text[start:end] == text`, always.

    `token_start` and `token_end` count the embedder's tokens from the document's start;
    `section` is 1 + the index of the innermost heading or definition in `document.marks`, or 0.
    """

    ordinal: int
    start: int
    end: int
    token_start: int
    token_end: int
    section: int
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """The text that situates a chunk, and how writing it ended.

    `status` is "ok", "retried" (accepted at the second try), "rejected" (by validation) or
    "failed" (no answer); the last two have no text and a `reason`.
    """

    text: str
    status: ContextStatus = "ok"
    reason: str = ""

    @staticmethod
    def rejected(reason: str) -> Context:
        """Return a context that validation refused."""
        return Context("", "rejected", reason)

    @staticmethod
    def failed(reason: object) -> Context:
        """Return a context that no answer came for; `reason` is shown as text."""
        return Context("", "failed", str(reason))

    @staticmethod
    def stored(text: str, outcome: str) -> Context:
        """Return a context as an index stores it: its text and its `outcome`."""
        return Context(text, *parse_outcome(outcome))

    @property
    def outcome(self) -> str:
        """Status and reason as one text, such as "rejected:empty"."""
        return f"{self.status}:{self.reason}" if self.reason else self.status


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunk keys and scores, best first; equal scores go to the smaller key."""

    keys: NDArray[np.int64]
    scores: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Stage:
    """What one stage of a search said of a chunk: its rank, from 1, and its raw score."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that answers, with its score and the rank and raw score each stage gave it."""

    key: int
    score: float
    uri: str
    title: str
    ordinal: int
    start: int
    end: int
    text: str
    outline: str
    context: str
    stages: Mapping[str, Stage]


@dataclass(frozen=True, slots=True)
class Passage:
    """One stretch of one document around one or more hits: `document.text[start:end] == text`.

    It scores as its best hit does. `pages` and `lines` are (first, last), lines from 1; lines are
    those of the file, None if the text was extracted from it. `fragment` is the end of a URL by
    which a browser finds the passage in a page, or "".
    """

    uri: str
    title: str
    start: int
    end: int
    text: str
    score: float
    tokens: int
    hits: tuple[Hit, ...]
    headings: tuple[str, ...] = ()
    lines: tuple[int, int] | None = None
    pages: tuple[str, str] | None = None
    fragment: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer names: `document.text[start:end]` is what the model was shown.

    `lines`, `pages` and `fragment` are those of the passage.
    """

    number: int
    uri: str
    title: str
    start: int
    end: int
    lines: tuple[int, int] | None = None
    pages: tuple[str, str] | None = None
    fragment: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model says to a question, and the passages it names.

    Citations in `text` that name no passage were taken out; `removed` counts them. `found` is
    false where the documents do not say. `model` is the generator's fingerprint, "" where none was
    asked; `usage` holds its counts, by its own names.
    """

    text: str
    citations: tuple[Citation, ...]
    removed: int
    found: bool
    model: str = ""
    usage: Mapping[str, int | float | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """What an index holds: counts by name, settings, what it owes, failed inputs.

    `reranker` is the one that searches use here, "" where none is set.
    """

    path: str
    counts: Mapping[str, int]
    settings: Mapping[str, str]
    notes: tuple[str, ...]
    failures: tuple[tuple[str, str], ...]
    exact: bool
    reranker: str = ""


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check of every row found: faults of the truth, and derived files that were mended."""

    faults: tuple[str, ...]
    mended: tuple[str, ...]


def parse_outcome(outcome: str) -> tuple[ContextStatus, str]:
    """Return the status and reason of a stored outcome; `ValueError` for an unknown status."""
    status, _, reason = outcome.partition(":")
    if status not in get_args(ContextStatus):
        raise ValueError(f'"{outcome}" is not the outcome of a context')
    return cast(ContextStatus, status), reason
