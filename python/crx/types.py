"""Value types that all packages share; all are frozen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast, get_args, overload

from crx._notebook import describe_passage, describe_result, passage_html, result_html

Scalar = str | int | float | bool

if TYPE_CHECKING:
    from datetime import date

    import numpy as np
    from numpy.typing import NDArray

    # A value of a document's metadata.
    MetadataValue = Scalar | date | Sequence[Scalar | date]

AnchorKind = Literal["slide", "chapter", "sheet", "row", "cell", "time"]
MarkKind = Literal["heading", "definition", "page"] | AnchorKind
_SECTIONS = ("heading", "definition")  # the marks that an outline names
Window = int | Literal["auto", "grow"]
Leg = Literal["bm25", "dense"]
LEGS: tuple[Leg, ...] = ("bm25", "dense")
ContextStatus = Literal["ok", "retried", "rejected", "failed"]
# "query": how the query was understood; "near": nothing has the words of the query; "nothing": why
# nothing was found; "state": what the status of the index says, too; "limit": candidates that a
# limit of time or of tokens left out; "failed": a rule that failed.
NoteKind = Literal["", "query", "near", "nothing", "state", "limit", "failed"]


class Note(str):
    """A warning of one line, and its kind, "" for most."""

    __slots__ = ("kind",)
    kind: NoteKind

    def __new__(cls, text: str, kind: NoteKind = "") -> Note:
        note = super().__new__(cls, text)
        note.kind = kind
        return note

    @staticmethod
    def of(text: str) -> Note:
        """Return a text as a note; one that is a note stays it."""
        return text if isinstance(text, Note) else Note(text)

    def __reduce__(self) -> tuple[type[Note], tuple[str, NoteKind]]:
        return Note, (str(self), self.kind)


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled span of a document's text.

    The span of a heading is its section, up to the next heading of the same or a higher level; the
    span of a definition or a page is the whole of it. `level` is 1 for the outermost heading or
    definition and 0 for pages. Offsets are code points, half open.
    """

    kind: MarkKind
    start: int
    end: int
    label: str
    level: int = 0

    @property
    def is_section(self) -> bool:
        """Whether the mark is a heading or a definition, which an outline names."""
        return self.kind in _SECTIONS


@dataclass(frozen=True, slots=True)
class Anchor:
    """The position of a passage in a file that has neither lines nor pages, such as slides 3 to 5.

    `first` and `last` are the labels of the marks around the passage's start and end. `sheet` is
    the sheet of a spreadsheet in which the rows are, else "".
    """

    kind: AnchorKind
    first: str
    last: str
    sheet: str = ""

    @property
    def label(self) -> str:
        """The position as a citation prints it: "slide 3", "sheet Plan, rows 5-9", "00:01:02"."""
        within = f"sheet {self.sheet}, " if self.sheet else ""
        word = "" if self.kind == "time" else f"{self.kind} "
        if self.first == self.last:
            return within + word + self.first
        plural = word.replace(" ", "s ")
        between = "-" if self.first[-1:].isdigit() and self.last[-1:].isdigit() else " to "
        return f"{within}{plural}{self.first}{between}{self.last}"


# The metadata of a document that describes the folder of its file, if it is described.
FOLDER_DESCRIPTION = "folder_description"


@dataclass(frozen=True, slots=True)
class Document:
    """One source text: its URI, normalized text, title, language and metadata.

    `chunks` are the spans of chunks that the source itself defines, which are used unchanged; None
    if it defines none. `title` comes from the content, so a renamed file keeps it; without one
    there, it is the words of the file's name, if that says something, and the metadata has the key
    `title_from`. Dates in `metadata` are stored as texts (ISO 8601).
    """

    uri: str
    text: str
    title: str = ""
    lang: str = ""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    chunks: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of one document: `document.text[start:end] == text`, always.

    `token_start` and `token_end` count the embedder's tokens from the start of the document.
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
    """The text that situates a chunk, and the outcome of writing it.

    `status` is "ok", "retried" (accepted on the second attempt), "rejected" (by validation) or
    "failed" (the model did not answer). A rejected or failed context has no text and a `reason`.
    """

    text: str
    status: ContextStatus = "ok"
    reason: str = ""

    @staticmethod
    def rejected(reason: str) -> Context:
        """Return a context that validation rejected."""
        return Context("", "rejected", reason)

    @staticmethod
    def failed(reason: object) -> Context:
        """Return a context for which the model gave no answer; `reason` is converted to text."""
        return Context("", "failed", str(reason))

    @staticmethod
    def stored(text: str, outcome: str) -> Context:
        """Return the context that an index stores as a text and an `outcome`."""
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
    """The rank, from 1, and raw score of a chunk among those that one stage of a search ranks."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that matches a query: its score, and the rank and raw score of each stage.

    `copies` is how many candidates were left out because they have its text, `also_in` the first
    ten other documents that hold them. `less_relevant` is true of a hit whose score is much lower
    than that of the best one.
    """

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
    copies: int = 0
    also_in: tuple[str, ...] = ()
    less_relevant: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """One stretch of one document around one or more hits: `document.text[start:end] == text`.

    `score` is the score of its best hit. `headings`, `line`, `pages`, `fragment` and `anchor` are
    those of the line of this hit that has most words of the query. `pages` and `lines` are (first,
    last). Lines are those of the file, from 1, None if the text was extracted from the file;
    `lines` are those of the whole passage. `fragment` is a URL fragment with which a browser
    scrolls to the text, or "". `anchor` is the position in slides, chapters, rows, cells or a
    recording. `folder` is the description of the document's folder, or "".
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
    anchor: Anchor | None = None
    line: int | None = None
    folder: str = ""

    @property
    def less_relevant(self) -> bool:
        """Whether all hits of the passage are less relevant than the best of the search."""
        return all(hit.less_relevant for hit in self.hits)

    def __repr__(self) -> str:
        """Return the location, the score and the start of the text in one line."""
        return describe_passage(self)

    def _repr_html_(self) -> str:
        return passage_html(self)


@dataclass(frozen=True, slots=True)
class Result:
    """Passages, best first, and the hits they were made from.

    With `window="auto"`, a hit that does not fit into the budget is in `hits` and in no passage.
    `notes` are warnings of one line each, such as a leg that lags behind the store. Each is a text
    with a `kind`.
    `timings_ms` holds the milliseconds of each stage. The stage `retrieve` consists of `embed` and
    `dense`, and of `bm25`, which runs beside them.
    """

    passages: tuple[Passage, ...]
    hits: tuple[Hit, ...]
    notes: tuple[Note, ...] = ()
    timings_ms: Mapping[str, float] | None = None

    def __iter__(self) -> Iterator[Passage]:
        return iter(self.passages)

    def __len__(self) -> int:
        return len(self.passages)

    @overload
    def __getitem__(self, at: int) -> Passage: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Passage, ...]: ...
    def __getitem__(self, at: int | slice) -> Passage | tuple[Passage, ...]:
        return self.passages[at]

    def __repr__(self) -> str:
        """Return the number of passages, a line for each of the first, and the notes."""
        return describe_result(self)

    def _repr_html_(self) -> str:
        return result_html(self)


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer cites: `document.text[start:end]` is the text the model read.

    `line`, `lines`, `pages`, `fragment` and `anchor` are those of the passage.
    """

    number: int
    uri: str
    title: str
    start: int
    end: int
    lines: tuple[int, int] | None = None
    pages: tuple[str, str] | None = None
    fragment: str = ""
    anchor: Anchor | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to a question, and the passages it cites.

    Citations of passages that do not exist were removed from `text`; `removed` counts them. `found`
    is false if the documents do not contain the answer. `model` is the generator's fingerprint, ""
    if no generator was called; `usage` holds the counts that the generator reports, by name.
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
    """The state of an index: counts by name, settings, notes and inputs that failed.

    `failures` are (URI, reason). `exact` says whether the vectors are scanned exactly.
    `reranker` is the reranker that searches use, "" if none is set. `lag` is how many changes BM25
    lacks.
    """

    path: str
    counts: Mapping[str, int]
    settings: Mapping[str, str]
    notes: tuple[str, ...]
    failures: tuple[tuple[str, str], ...]
    exact: bool
    reranker: str = ""
    lag: int = 0

    @property
    def dense_search(self) -> str:
        """How the nearest vectors are found: "exact" or "HNSW"."""
        return "exact" if self.exact else "HNSW"


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a check of every row: damaged rows, and what was repaired; one line each."""

    faults: tuple[str, ...]
    repaired: tuple[str, ...]


def is_outcome(outcome: str) -> bool:
    """Return whether a text is an outcome of a context; an index from elsewhere may have others."""
    return outcome.partition(":")[0] in get_args(ContextStatus)


def parse_outcome(outcome: str) -> tuple[ContextStatus, str]:
    """Return the status and reason of a stored outcome; `ValueError` for an unknown status."""
    status, _, reason = outcome.partition(":")
    if not is_outcome(outcome):
        raise ValueError(f'"{outcome}" is not an outcome of a context')
    return cast(ContextStatus, status), reason
