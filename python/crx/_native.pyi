"""The native core: the interface between `rust/` and `python/`.

Offsets are code points, and spans are half open. Keys of chunks are int64. Larger scores are
better; equal scores are in ascending order of key. Errors are the classes of `crx.errors`; a bad
argument raises `ValueError`. Every call that loops or accesses a disk releases the GIL, and every
object may be used from several threads.
"""

import os
from collections.abc import Callable, Sequence, Set
from typing import Any, Final, Literal, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BEST",
    "FLOOR_RANK",
    "PDFIUM_FUNCTIONS",
    "AppendFile",
    "ChunkRow",
    "Declaration",
    "Dense",
    "DocumentRow",
    "Filter",
    "Glob",
    "IgnorePatterns",
    "Interrupt",
    "Lexical",
    "LexicalQuery",
    "PassageRow",
    "PassageSpan",
    "PassageText",
    "Pattern",
    "SheetRows",
    "SheetStrings",
    "Store",
    "Trigrams",
    "analyze",
    "aside",
    "bounded_page",
    "check_interrupt",
    "clear_folder",
    "current_interrupt",
    "declarations",
    "dense_topk",
    "detect_lang",
    "digest",
    "document_kind",
    "document_lang",
    "expand_spans",
    "find_copied_chunks",
    "find_originals",
    "fuse_scores",
    "is_aside",
    "is_source_code",
    "letter_scores",
    "make_hits",
    "make_passages",
    "mend_filter",
    "onnx_external_files",
    "onnx_with_states",
    "outline",
    "page_text",
    "pdf_lines",
    "position_in",
    "query_symbols",
    "query_terms",
    "query_words",
    "rank_code",
    "read_file",
    "remove_file",
    "replace_file",
    "rows_with_names",
    "rows_with_phrases",
    "salvage",
    "select_spans",
    "show_date",
    "show_fixed_point",
    "show_general",
    "source_languages",
    "split",
    "unspaced_spans",
    "work_alone",
]

_Hit = TypeVar("_Hit")
_Passage = TypeVar("_Passage")
_FixedPoint = tuple[str, bool, int, str, int, bool]
_Format = _FixedPoint | Sequence[tuple[str, str]] | None

# patterns of paths

@final
class Glob:
    """A glob: `*`, `?` and `[...]` stay within a folder, `**` crosses folders.

    Raises `ValueError` for a "[" without "]", and for more than 1,000 characters. A match takes
    time proportional to the lengths of the pattern and of the text.
    """

    def __new__(cls, pattern: str) -> Glob: ...
    def matches(self, text: str) -> bool:
        """Return whether the whole text matches."""

@final
class Pattern:
    """A regular expression, or a text of which every character stands for itself.

    Case counts if it has a capital; `^` and `$` match at lines. A search takes time proportional to
    the length of the text. Both raise `ValueError` with the reason for a pattern that is not valid,
    too large, or matches the empty text.
    """

    @staticmethod
    def regex(source: str) -> Pattern: ...
    @staticmethod
    def literal(text: str) -> Pattern: ...
    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the start and end of each match in a text, in code points.

        They are those of the first 10,000 matches that are found within a second.
        """

@final
class IgnorePatterns:
    """The patterns of the lines of an ignore file, with the meaning that Git gives them.

    Raises `ValueError` for a line of more than 1,000 characters. An invalid pattern matches
    nothing.
    """

    def __new__(cls, lines: Sequence[str]) -> IgnorePatterns: ...
    def check(self, path: str) -> bool | None:
        """Return whether the last pattern that matches a path ignores it, None without one.

        The path is relative to the folder of the file, and ends with "/" if it is a folder's.
        """

# interrupts of searches

@final
class Interrupt:
    """A flag that ends the searches of the threads that have entered it, as a context manager.

    It is set by `set`, or by itself after some seconds. A search then raises `Interrupted`.
    """

    def __new__(cls, seconds: float | None = None) -> Interrupt: ...
    def __enter__(self) -> Interrupt: ...
    def __exit__(self, *_args: object) -> None: ...
    def set(self) -> None:
        """End the searches."""

def current_interrupt() -> Interrupt | None:
    """Return the interrupt of this thread, to enter it in another one."""

def work_alone() -> None:
    """Make this thread run its parallel loops alone, so that they do not hold up other threads."""

def check_interrupt() -> None:
    """Raise `Interrupted` if the interrupt of this thread is set."""

# text: analyze and split

def analyze(text: str, lang: str = "") -> list[str]:
    """Return the terms of a text, in order, as they are indexed."""

def query_terms(
    texts: Sequence[str], *, langs: Sequence[str], name: str = ""
) -> list[list[tuple[str, float]]]:
    """Return the distinct terms of each text, as a query has them, with their weights.

    A weight is 1 + ln n for a word that occurs n times, or a quarter for a function word; the terms of `name`, the part of the query that names a document, have half of that.
    """

def letter_scores(query: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the score (n,) of each text by the letters that its words share with those of a query.

    It is the BM25 score of the groups of four letters, by their frequencies in these texts; 0 for a
    query in scripts without spaces.
    """

def query_words(
    query: str, *, langs: Sequence[str], name: str = ""
) -> list[tuple[str, float, int]]:
    """Return the terms of a query with their weights and the numbers of their words.

    The stems of a word in several languages are of one word, whose document frequency is the sum of
    theirs.
    """

@final
class LexicalQuery:
    """A query by its terms, without a language, analyzed once for all texts it is compared with.

    An identifier, a code or a number has a term as a whole and one for each part. In a text that
    holds the whole, a part alone tells nothing.
    """

    def __new__(cls, query: str) -> LexicalQuery: ...
    @property
    def wholes(self) -> list[str]:
        """The words of several terms, each once."""

    @property
    def is_plain_word(self) -> bool:
        """Whether it is one word with one term, which an identifier may have as a part."""

    def count_word(self, texts: Sequence[str]) -> list[tuple[int, int]]:
        """Return how often each text has its word, or a form of it, as a whole and within a name.

        A query that is no plain word has no such word, and is counted 0 times.
        """

    def terms_for(self, text: str) -> list[str]:
        """Return the terms by which the words of a text are marked and its rows chosen."""

    def row_terms(
        self, rows: Sequence[str], *, known: Set[str]
    ) -> tuple[list[list[int]], list[tuple[str, float]], list[int]]:
        """Return the terms that each row of a text holds, as numbers of the list that follows.

        That list has the terms with their weights, which are 1 in all: rare ones weigh more, those
        that are `known` a quarter. The last list has the rows that define the name which the query
        is, or that have its plain word as a whole where others have it within names.
        """

    def find_answers(self, texts: Sequence[str]) -> list[tuple[int, int]]:
        """Return the span of the line of each text that answers: the one with most terms.

        A line that defines what is asked for goes first, a heading of Markdown last. A text without
        any of the terms answers as a whole.
        """

def detect_lang(text: str) -> str:
    """Return the ISO 639-1 code of a text's language, or "" if detection is not reliable."""

def document_lang(text: str, *, likely: str = "") -> str:
    """Return the ISO 639-1 code of a document's language, or "" without evidence.

    `likely` is the language of most other documents: less evidence is needed for it.
    """

def unspaced_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans, in characters, of the terms that are in scripts without spaces.

    Such a term is two characters that follow each other, with their combining marks, or one that is
    alone; empty if the text has no such character.
    """

def bounded_page(markup: str) -> str | None: ...
def page_text(markup: str, *, ignore_case: bool) -> tuple[str, list[tuple[int, str, int]]]:
    """Return the main text of an HTML page and its headings, as start, label and level.

    `markup` is the body as a parser serializes it, in which every element is closed in order. A block
    is a line of its own, a list item begins with its bullet or number, a row of a table is a line with
    its cells separated by tabs, and `<pre>` is kept as it is. `ignore_case` compares classes and ids
    without case. A page without text has "".
    """

@final
class SheetStrings:
    """The shared strings of an XLSX workbook, each as one line without its readings.

    One thread at a time may feed it.
    """

    def __new__(cls) -> SheetStrings: ...
    def feed(self, piece: bytes) -> None:
        """Parse a piece of the part in UTF-8; raise `ValueError` if it is not well-formed."""

    def close(self) -> None:
        """End the part; raise `ValueError` if it has no end."""

@final
class SheetRows:
    """The rows of a sheet of an XLSX workbook while its part is parsed.

    `styles` are by the style of a cell: None for the general format, or the formats of numbers
    above zero, below zero and of zero, and whether texts have a format. A format of numbers is that
    of `show_fixed_point`, the tokens of `show_date`, or None for another, whose values the caller shows.
    Dates count from 1904 if `from_1904`. One thread at a time may feed it.
    """

    def __new__(
        cls,
        strings: SheetStrings,
        styles: Sequence[tuple[tuple[_Format, _Format, _Format], bool] | None],
        *,
        from_1904: bool,
    ) -> SheetRows: ...
    @property
    def uncomputed(self) -> int:
        """How many formulas have no stored result; their cells are the formulas."""

    def feed(self, piece: bytes) -> list[tuple[int, float | str]]:
        """Parse a piece in UTF-8 and return the values for the caller to show, with their styles.

        Raises `ValueError` if the part is not well-formed or declares entities.
        """

    def take_rows(self, shown: list[str]) -> list[tuple[int, tuple[int, ...], str]]:
        """Return the rows that have ended: number from 1, filled columns from 0, cells.

        `shown` has a text for each value of the last piece. The cells are one line each, with tabs
        between.
        """

    def close(self) -> None:
        """End the part; raise `ValueError` if it has no end."""

def show_date(value: float, tokens: Sequence[tuple[str, str]], *, from_1904: bool) -> str | None:
    """Return a serial number of days as the tokens of a code show it, None if it is no date."""

def show_general(value: float) -> str:
    """Return a number with up to 15 significant digits, a whole number without a fraction."""

def show_fixed_point(value: float, format: _FixedPoint) -> str:
    """Return a number in a format of one row of digits.

    The format is the text before, whether thousands have commas, how many decimals are shown, the
    text after, the decimals to shift by (two for a percent sign), and whether a number below zero
    has a minus. The number is finite, and is rounded half up from its first 15 digits.
    """

def split(
    text: str,
    *,
    cuts: NDArray[np.uint32],
    token_starts: NDArray[np.uint32] | None,
    budget: int,
    overlap: int = 0,
) -> NDArray[np.uint32]:
    """Return (n, 2) spans that cover the text, none longer than the budget if that is possible.

    `cuts` is (m, 2): positions at which the structure allows a cut, each with a level (1 is the
    strongest). Boundaries of paragraphs, sentences, words and characters are found by this
    function. The budget is in tokens (a span contains the tokens that start in it) or, with
    `token_starts=None`, in code points; a token counts as at most 32 code points. With `overlap`, a
    span may start earlier, and repeat up to that much of the span before it. A blank text has no
    spans.
    """

def digest(*parts: bytes) -> bytes:
    """Return the 32-byte BLAKE3 of the parts, each preceded by its length."""

# models

def onnx_external_files(path: os.PathLike[str]) -> set[str]:
    """Return the names of the files that an ONNX graph reads tensors from, as it gives them.

    Raises `ValueError` for a file that is no graph, and `OSError`.
    """

def onnx_with_states(path: os.PathLike[str]) -> bytes | None:
    """Return an ONNX graph with one more output: the states of all tokens, before they are pooled.

    They are what the last layer normalization gives; None for a graph without one.
    """

# files of an index folder: no link is followed, and nothing but a regular file is opened

@final
class AppendFile:
    """A file of an index that grows at its end; every method raises `NoRoom` or `SystemFailure`."""

    @staticmethod
    def open(folder: str | os.PathLike[str], name: str) -> AppendFile:
        """Open a file for reading and appending; it is created if there is none.

        Raises `Damaged` if its name is that of a link, a pipe or a device.
        """

    def read(self) -> bytes:
        """Return what the file holds."""

    def truncate(self, size: int) -> None:
        """Cut the file off after some bytes."""

    def append(self, content: bytes) -> None:
        """Write at the end."""

    def sync(self) -> None:
        """Put what was written on the disk."""

    def close(self) -> None:
        """Close the file."""

def read_file(folder: str | os.PathLike[str], name: str) -> bytes | None:
    """Return what a file of an index holds, None if there is no such file.

    `name` is a path below the folder. Raises `Damaged` if a part of it is a link, or if the file is
    a pipe or a device; so do the functions below.
    """

def replace_file(folder: str | os.PathLike[str], name: str, content: bytes) -> None:
    """Replace a file of an index; what it held is lost when the new content is on the disk."""

def remove_file(folder: str | os.PathLike[str], name: str) -> None:
    """Delete a file or a link in an index, if it is there."""

def clear_folder(folder: str | os.PathLike[str], name: str) -> None:
    """Delete all that is in a folder of an index, and nothing that a link in it leads to.

    The folder is made if it is not there.
    """

# fusion and passages

def make_hits(
    hit: type[_Hit],
    stage: Callable[[int, float], object],
    rows: Sequence[_Chunk],
    *,
    scores: Sequence[float],
    rankings: Sequence[tuple[str, NDArray[np.int64], NDArray[np.float64]]],
    copies: Sequence[int],
    also_in: Sequence[tuple[str, ...]],
    least: float,
) -> tuple[_Hit, ...]:
    """Return the hits of rows: instances of `types.Hit`, whose stages are `types.Stage`.

    A ranking is its name, keys and scores. A score below `least` is that of a less relevant hit.
    Raises `TypeError` if the classes have other fields.
    """

def make_passages(
    passage: type[_Passage],
    rows: Sequence[_PassageRow],
    hits: tuple[object, ...],
    answers: Sequence[tuple[int, int]],
) -> list[tuple[_Passage, str]]:
    """Return the passages of rows, instances of `types.Passage`, each with its other marks.

    An answer is the span of the line of the row's best hit that answers, in code points of the hit.
    The passage has the headings and the line of its start. The marks are a JSON list of those that
    are no sections, "" for none. Raises `TypeError` if the class has other fields.
    """

def position_in(marks: str, position: int) -> tuple[tuple[str, ...], str]:
    """Return the labels of the sections around a position, outermost first, and the other marks.

    Marks are a JSON list; "" for no others.
    """

def fuse_scores(
    rankings: Sequence[tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float64], float]],
    *,
    score_share: float,
    rrf_k: float,
    k: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Fuse rankings by relative scores and reciprocal ranks.

    A ranking is its keys, their scores, the weight of each, and the score of a chunk that it does
    not hold. A key's score is the sum over rankings of its weight times `score_share` of its
    relative score, which is 1 for the best key and 0 from rank 50 on, and the rest of its
    reciprocal rank, `(rrf_k + 1) / (rrf_k + rank)`. Returns the best k keys and their scores; equal
    scores go to the better rank, then to the smaller key.
    """

class _PassageRow(_Text, Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def score(self) -> float: ...
    @property
    def tokens(self) -> int: ...
    @property
    def hits(self) -> list[int]: ...
    @property
    def lines(self) -> tuple[int, int]: ...
    @property
    def marks(self) -> str: ...

class _Text(Protocol):
    @property
    def text(self) -> str: ...

class _Chunk(_Text, Protocol):
    @property
    def key(self) -> int: ...
    @property
    def uri(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def outline(self) -> str: ...
    @property
    def context(self) -> str: ...

def find_originals(query: str, rows: Sequence[tuple[str, str, str]], *, share: float) -> list[int]:
    """Return for each text the number of the first one that it copies, or its own.

    A row is a text, the whole that it is a part of, which may be itself, and what is said about its
    document. A text copies an earlier one whose whole contains `share` of its shingles, every three
    terms in a row, unless it or its document has a word of the query that the earlier one lacks.
    """

def find_copied_chunks(
    query: str, chunks: Sequence[_Chunk], *, share: float
) -> dict[int, tuple[int, ...]]:
    """Return the keys of the chunks that copy no earlier one, in order, each with its copies.

    What is compared of a chunk is its text; outline, context, title and URI are what is said about
    its document. The texts of a `ChunkRow` are read where they are.
    """

def rows_with_phrases(rows: Sequence[_Text], phrases: Sequence[str]) -> list[int]:
    """Return the numbers of the rows that may hold all phrases between ends of words.

    A phrase has single spaces and no case. A text in ASCII that is returned holds them; one with
    other characters may.
    """

def rows_with_names(
    rows: Sequence[_Chunk], names: Sequence[tuple[str, Sequence[str]]]
) -> list[int]:
    """Return the numbers of the rows that may hold one of some names.

    A name comes with words of its document, all without case. Names are looked for in their order,
    up to the first of which the row's title and outline lack a word. A text with other characters
    than ASCII may hold any.
    """

def document_kind(uri: str, text: str) -> Literal["code", "prose", "data"]:
    """Return the kind of a document, by its path, else by its whole text.

    The store has it of each document (`DocumentRow.kind`) and chunk (`ChunkRow.kind`), and a filter
    as the field `kind`.
    """

def query_symbols(query: str) -> list[str]:
    """Return the names of source code that a query has: `parse_args`, its only word."""

@final
class Declaration:
    """How a text declares a name; greater says more of what it is.

    `DEFINITION`: it defines a function, a type or a macro. `MEMBER`: it has a parameter with a type
    or a default, a field, a variable of a module, a key or an entry of a list. `VALUE`: it gives
    the name a value, as a variable of a function does. `NONE`: it uses the name, or lacks it.
    """

    NONE: Final[Declaration]
    VALUE: Final[Declaration]
    MEMBER: Final[Declaration]
    DEFINITION: Final[Declaration]
    def __int__(self) -> int: ...
    def __hash__(self) -> int: ...
    def __lt__(self, value: Declaration, /) -> bool: ...
    def __le__(self, value: Declaration, /) -> bool: ...
    def __gt__(self, value: Declaration, /) -> bool: ...
    def __ge__(self, value: Declaration, /) -> bool: ...

def declarations(rows: Sequence[tuple[str, str]], name: str) -> list[Declaration]:
    """Return how each text, after its URI, declares a name, by the line that says most of it.

    Case does not count. The extension of the URI tells how definitions are written.
    """

def aside(uris: Sequence[str]) -> list[bool]:
    """Return what `is_aside` does of each URI, without the folders that all have in common."""

def is_aside(path: str) -> bool:
    """Return whether a path below a project is that of a test, an example or foreign code."""

def is_source_code(text: str) -> bool:
    """Return whether a text is source code or the like, such as a table of symbols.

    It is told from the text alone, in microseconds: a manual holds examples, and a document may
    have no name. True of 96% of the chunks of source files in nine languages, and of 2% of those of
    contracts and of encyclopedia articles.
    """

BEST: Final[int]
"""How many of the best candidates tell what a query is for: source code, a document that it names."""

FLOOR_RANK: Final[int]
"""The rank from which the scores of a ranking count as 0."""

PDFIUM_FUNCTIONS: Final[tuple[str, ...]]
"""The functions of PDFium whose addresses `pdf_lines` takes, in their order."""

def pdf_lines(
    addresses: Sequence[int],
    page: int,
    bounds: tuple[float, float, float, float],
    fields: Sequence[tuple[str, tuple[float, float, float, float]]],
) -> tuple[
    list[tuple[str, tuple[float, float, float, float], float, bool, bool, bool, int]],
    int,
    int,
    bool,
]:
    """Return the lines of an open text page of PDFium in reading order.

    `addresses` are those of the functions that `pdf_page` names, `page` that of the text page: both
    are used as they are, so wrong ones crash the process. A line is its text, its left, lower, right
    and upper edge, the height of its type, whether it is bold, a row of a table (with tabs between
    its cells) and the beginning of a paragraph, and the number of its block. The number of the
    page's characters follows, that of those that its fonts name no character for, and whether the
    page has more characters than are read.
    """

def outline(text: str, *, language: str) -> list[tuple[int, int, str, int]]:
    """Return the definitions of a source text, the outer before the inner.

    Each has its start and end in code points, a label such as "class Reader", and its level from 1.
    There are none of a language that `source_languages` does not name.
    """

def source_languages() -> dict[str, str]:
    """Return the languages of source files by extension, in small letters and without a dot."""

def rank_code(
    query: str,
    rows: Sequence[tuple[int, str, str, str]],
    scores: NDArray[np.float32],
    *,
    definition: float,
    names: float,
    path: float,
    aside: float,
    prose: float,
    file: float,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Order candidates by what definitions, paths and kinds of files say of source code.

    A row is the number of a document, its URI, its kind and the text of a chunk; `scores` are theirs, best
    first. Returns the indexes of the rows in their new order and their scores, of which the best is
    the best of the old ones. Nothing changes if none of the ten best rows is source code.
    """

@final
class PassageRow:
    """A stretch of a document: whole consecutive chunks around hits.

    `hits` are indices of the given hits, best first; `first` and `last` are ordinals of chunks.
    `text`, `lines` and `marks` are as in `PassageText`. `uri` and `metadata` are the document's.
    """

    doc: int
    start: int
    end: int
    first: int
    last: int
    tokens: int
    score: float
    hits: list[int]
    text: str
    lines: tuple[int, int]
    marks: str
    uri: str
    metadata: str

@final
class PassageSpan:
    """A stretch of a document, as in `PassageRow`, without its text."""

    doc: int
    start: int
    end: int
    first: int
    last: int
    tokens: int
    score: float
    hits: list[int]

def select_spans(
    hits: NDArray[np.int64],
    scores: NDArray[np.float32],
    layouts: NDArray[np.int64],
    *,
    budget_tokens: int,
    within_section: bool = False,
    order: str = "score",
) -> list[PassageSpan]:
    """Return the stretches that `Store.select_passages` returns.

    `hits` is (n, 2): document and ordinal, best first. `layouts` is (m, 7): document, ordinal and
    the columns of `Store.layout`, ascending by ordinal in each document; it holds the chunks of the
    hits and those around them, as far as 512 tokens. Raises `ValueError` if a hit's is missing.
    """

def expand_spans(
    hits: NDArray[np.int64],
    scores: NDArray[np.float32],
    layouts: NDArray[np.int64],
    *,
    budget_tokens: int | None = None,
    window: int | None = None,
    within_section: bool = False,
    order: str = "score",
) -> list[PassageSpan]:
    """Return the stretches that `Store.expand_passages` returns; arrays as in `select_spans`."""

# the store

@final
class Filter:
    """A set of documents, to which a search can be restricted."""

    def __len__(self) -> int: ...
    def __contains__(self, doc: int, /) -> bool: ...

@final
class DocumentRow:
    doc: int
    uri: str
    title: str
    lang: str
    kind: Literal["code", "prose", "data"]
    metadata: str
    source_hash: bytes
    source_size: int
    source_mtime_ns: int
    chunks: int

@final
class ChunkRow:
    """A chunk with its document's names and its contexts.

    A text becomes a Python object when it is first asked for.
    """

    key: int
    doc: int
    uri: str
    title: str
    lang: str
    kind: Literal["code", "prose", "data"]
    ordinal: int
    start: int
    end: int
    token_start: int
    token_end: int
    section: int
    text: str
    outline: str
    context: str
    outcome: str

@final
class PassageText:
    """The text of a span of a document, with its position.

    `lines` are its first and last line, from 1; `marks` are the marks that overlap it, as JSON.
    """

    text: str
    lines: tuple[int, int]
    marks: str

def mend_filter(where_: str) -> str:
    """Return a filter, a JSON object, whose values are written as documents have them.

    `ext` is without a dot, `lang` a code and `format` a name of a format; a part of a person's name
    is a pattern. Raises `ValueError` if it is no object.
    """

def salvage(source: str, target: str, *, settings: dict[str, str]) -> dict[str, int]:
    """Take the intact rows of an index into the new folder `target`; `source` is only read.

    `settings` are used where those of the index are lost. Returns the numbers of `documents`,
    `chunks`, `contexts` and `vectors`, of `documents_in_part`, of `documents_lost`, `chunks_lost`,
    `contexts_lost` and `vectors_lost`, of `rows`, `rows_lost` and `pages_lost`, and 1 as
    `removed_may_be_back` if the list of free pages is lost. Raises `Damaged` if there is no intact
    row, `NotAnIndex` if there is no `crx.db`, `NoRoom`.
    """

@final
class Store:
    """A handle on `crx.db`, the store of an index."""

    @staticmethod
    def open(
        path: str, *, write: bool = False, create: bool = False, base: str | None = None
    ) -> Store:
        """Open an index folder.

        `write` takes the writer's lock, and raises `Locked` with the process that holds it;
        `create` creates a missing folder, with mode 0700. Raises `NotAnIndex`, `Incompatible` for
        another format, `Damaged`, `NoRoom`.

        With `base`, the URI of the folder that holds the index, the handle takes and gives absolute
        URIs, and stores those of files below the base, and the field `path` of metadata, relative to
        it. An index that was moved without its documents keeps the base it was written with. With
        `write`, an index of an earlier version, whose URIs are stored as they are, is made so, too.
        """

    def close(self) -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def seq(self) -> int:
        """The sequence number of the last committed change."""

    def stored_uri(self, uri: str) -> str:
        """Return the form of a URI in settings and files of the index, relative to its base."""

    def absolute_uri(self, stored: str) -> str:
        """Return the URI of a stored form."""

    @property
    def log_lost(self) -> bool:
        """True if the database was being written and its write-ahead log is missing."""

    def flush(self) -> None:
        """Make durable all that was committed.

        Documents and failures are made durable in groups of what is put within a second; all else
        is durable when the call returns.
        """

    def begin_read(self) -> None:
        """Begin a read transaction: later reads see the last commit before it.

        It lasts until `end_read`; the write-ahead log cannot be shortened meanwhile. Raises
        `UsageError` for a writer, and if a read transaction has begun already.
        """

    def end_read(self) -> None:
        """End the read transaction, if there is one."""

    def backup(self, folder: str) -> None:
        """Copy the database, with all that is committed, into a new index folder.

        The folder appears when the copy is whole. Raises `NoRoom`, `NotAnIndex` for a folder that
        holds other files.
        """

    def settings(self) -> dict[str, str]:
        """Return the settings with which the index was built, by name."""

    def set_settings(self, settings: dict[str, str]) -> None: ...
    def documents(self) -> list[DocumentRow]:
        """Return all documents, by URI."""

    def metadata_fields(self) -> set[str]:
        """Return the names of the fields in the metadata of all documents."""

    def document(self, uri: str) -> DocumentRow | None: ...
    def document_by_id(self, doc: int) -> DocumentRow | None: ...
    def text(self, doc: int) -> str:
        """Return a document's text, after checking its hash."""

    def marks(self, doc: int) -> str:
        """Return a document's marks, as the JSON with which it was put."""

    def layout(self, doc: int) -> NDArray[np.uint32]:
        """Return (n, 5): start, end, token_start, token_end, section of each chunk by ordinal."""

    def put_document(
        self,
        *,
        uri: str,
        title: str,
        lang: str,
        metadata: str,
        source_hash: bytes,
        source_size: int,
        source_mtime_ns: int,
        text: str,
        marks: str,
        layout: NDArray[np.uint32],
        outlines: Sequence[str],
        context_keys: Sequence[bytes],
        vector_keys: Sequence[bytes],
    ) -> int:
        """Insert or replace a document and its chunks in one transaction; return its id.

        `metadata` is a JSON object; `marks` is a JSON list of objects with `start` and `end`.
        `layout` is (n, 5) as `layout()` returns it. `context_keys` are keys of existing contexts
        (`ValueError` otherwise) or b"". `vector_keys` are the vectors that the chunks should have;
        existing ones are linked at once. A chunk keeps its key if its text, outline, context key,
        vector key and number of tokens are unchanged. Putting an unchanged document changes
        nothing; a document with damaged rows is written again.
        """

    def touch_document(self, uri: str, *, source_mtime_ns: int, source_size: int) -> None:
        """Update the time stamp and size of a source; `seq` does not change."""

    def rename_document(self, old: str, new: str, *, metadata: str, source_mtime_ns: int) -> None:
        """Change the URI, the metadata (a JSON object) and the time stamp of a document."""

    def remove_documents(self, uris: Sequence[str]) -> int:
        """Remove documents with their chunks; return their number. Contexts stay until `gc`."""

    def have_vectors(self, keys: Sequence[bytes]) -> list[bool]: ...
    def vectors(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the vector of each key as little-endian float16 bytes, None if there is none."""

    def put_vectors(self, keys: Sequence[bytes], rows: NDArray[np.float32]) -> None:
        """Store (n, d) float32 rows as float16 under their keys; link the chunks that lack them."""

    def pending(self, *, after: int = 0, limit: int = 1024) -> NDArray[np.int64]:
        """Return the keys above `after` of chunks that lack their vector, ascending."""

    def count_pending(self) -> int:
        """Return the number of chunks that lack their vector."""

    def pending_chunks(self) -> NDArray[np.int64]:
        """Return (n, 3): key, document and ordinal of each chunk that lacks its vector, by key."""

    def without_vector(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the chunks, in their order, that should have a vector and have none."""

    def drop_damaged_vectors(self) -> NDArray[np.int64]:
        """Delete the vectors that do not match their hash; return the keys of the chunks that had
        one, ascending. These chunks are then pending."""

    def put_contexts(self, rows: Sequence[tuple[bytes, str, str, str]]) -> None:
        """Store contexts: (key, generator, outcome, text). Existing ones are not replaced."""

    def contexts(self, keys: Sequence[bytes]) -> list[tuple[str, str, str] | None]:
        """Return (generator, outcome, text) for each key, or None if there is no context."""

    def link_context(self, chunk: int, context_key: bytes, vector_key: bytes) -> None:
        """Set the context of a chunk and the vector that it should have, in one transaction.

        The context must exist. The chunk keeps its present vector until the wanted one exists.
        """

    def chunks(self, keys: NDArray[np.int64]) -> list[ChunkRow]:
        """Return the chunks of these keys, in their order, after checking their hashes.

        A key without a chunk is skipped.
        """

    def chunk_keys(self, doc: int) -> NDArray[np.int64]:
        """Return the keys of a document's chunks by ordinal."""

    def chunk_links(self, doc: int) -> list[list[bytes]]:
        """Return the keys of context, wanted vector and present vector of each chunk, by ordinal.

        An empty key means that there is none.
        """

    def passage(self, doc: int, start: int, end: int) -> PassageText:
        """Return `text[start:end]` of a document with its lines and marks.

        Only the text around the span is read, and an index of the line breaks and marks before
        it. In an index that an earlier version of crx wrote, a handle with `write` adds that index
        on opening; until then, the text before the span is read as well. Raises `ValueError` if
        there is no such document, or the span is empty or not within its text.
        """

    def select_passages(
        self,
        keys: NDArray[np.int64],
        scores: NDArray[np.float32],
        *,
        budget_tokens: int,
        within_section: bool = False,
        order: str = "score",
    ) -> list[PassageRow]:
        """Return the passages around hits, best first, of greatest value under a token budget.

        A hit of rank r has the value 1 / r, times the square root of its length as a share of 160
        tokens, and adds a tenth of 1 / r to the 512 tokens on each side; a passage costs its tokens,
        and 32 more. Passages are whole chunks, and may bridge chunks of low value. The best hit is
        in a passage even if it exceeds the budget; others may be in none. With `within_section`, no passage grows across the border of a section. `order` is
        "score" or "document". Chunks that are gone are skipped.
        """

    def expand_passages(
        self,
        keys: NDArray[np.int64],
        scores: NDArray[np.float32],
        *,
        budget_tokens: int | None = None,
        window: int | None = None,
        within_section: bool = False,
        order: str = "score",
    ) -> list[PassageRow]:
        """Expand hits by whole neighbouring chunks; passages that touch or overlap become one.

        With `budget_tokens`, a hit grows alternately after and before up to that many tokens; with
        `window`, by that many chunks on each side; with neither, not at all. The other parameters
        are as for `select_passages`.
        """

    def select(self, where: str) -> Filter:
        """Return the documents that match a filter.

        `where` is a JSON object of field -> condition, all of which must hold. A field is `uri`,
        `title`, `lang`, `source` (the URI without its `#fragment`) or a metadata name. A condition
        is a value (equal), a list (any of them; for a metadata list, one in common), a text with
        `*`, `?` or `[` for `uri` or `source` (glob; `**` crosses slashes), or an object of `=`,
        `!=`, `<`, `<=`, `>`, `>=`, `prefix`, `glob`, `in`. Numbers compare with numbers, texts with
        texts; `!=` is "not `=`", so a document without the field matches. Raises `ValueError` for
        any other filter.
        """

    def matching(
        self, pattern: Pattern, *, trigrams: Trigrams, k: int, only: Filter | None = None
    ) -> tuple[NDArray[np.int64], Literal["complete", "count", "time", "bytes"]]:
        """Return at most k chunks in which a match begins, and what ended the search.

        Texts that cannot match by `trigrams` are not read. The chunks are in the order of documents and ordinals. "count" tells that more chunks match,
        "time" that ten seconds were over.
        """

    def langs(self) -> list[str]:
        """Return the languages of the documents, most frequent first; "" is that of unknown ones."""

    def chunks_by_lang(self) -> list[tuple[str, int]]:
        """Return each language ("" unknown) with the number of chunks of its documents.

        The language of most documents is first.
        """

    def stats(self) -> dict[str, int]:
        """Return the numbers of documents, chunks, tokens, vectors, pending vectors, contexts and
        failures, the bytes of the folder, and the chunks of each `outcome:<outcome>`."""

    def record_failure(self, uri: str, reason: str) -> None:
        """Record an input that could not be read, until its document is put or removed."""

    def forget_failures(self, uris: Sequence[str]) -> None:
        """Delete the records of inputs that could not be read; documents of those URIs stay."""

    def failures(self) -> list[tuple[str, str]]: ...
    def verify(self) -> list[str]:
        """Check every row against its hash, and run SQLite's checks; return a line for each fault."""

    def gc(self, *, contexts: bool = False) -> dict[str, int]:
        """Delete unused vectors and texts and, if asked, contexts; return the number of each."""

# the legs

@final
class Lexical:
    """The BM25 leg, in `derived/bm25`."""

    @staticmethod
    def open(folder: str, *, fields: Sequence[str] | None = None, write: bool = False) -> Lexical:
        """Open the folder; with `write`, create it if necessary.

        `fields` are the indexed fields, of "text", "outline" and "context"; None is all three. A
        folder that has other fields or is damaged raises `Damaged`; with `write` it is rebuilt
        instead, empty, at seq 0.
        """

    def snapshot(self) -> Lexical:
        """Return a handle on what this one reflects now; it stays as it is."""

    @property
    def seq(self) -> int:
        """The store's sequence number that it reflects."""

    def __len__(self) -> int:
        """Return the number of chunks."""

    def put(
        self,
        doc: int,
        keys: NDArray[np.int64],
        lang: str,
        texts: Sequence[str],
        outlines: Sequence[str],
        contexts: Sequence[str],
    ) -> None:
        """Replace a document's chunks, or remove them without keys; visible after `commit`."""

    def commit(self, seq: int) -> None:
        """Make all changes durable and visible, as the store's state at `seq`."""

    def close(self) -> None:
        """Wait for running merges and release the folder; a later `put` takes it again."""

    def sync(self, store: Store) -> int:
        """Apply the store's changes; return the number of documents read. A handle opened for
        reading loads the last commit instead, and returns 0."""

    def search(
        self,
        query: str,
        *,
        k: int,
        name: str = "",
        langs: Sequence[str] | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        weights: Sequence[float] | None = None,
        only: Filter | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the best k chunks and their BM25F scores (Robertson, Zaragoza 2009).

        `langs` are the languages whose stems the query's words may have; None is English.
        `weights` are the weights of text, outline and context, by default 1 each; a field of
        weight 0 is ignored. Function words of the query ("the", "how") have a quarter of the
        weight, and the terms of `name`, the part of the query that names a document, have half.
        Raises `ValueError` for a parameter that is out of range.
        """

    def sparse_topk(
        self,
        terms: Sequence[tuple[str, float]],
        *,
        k: int,
        k1: float = 1.2,
        b: float = 0.75,
        weights: Sequence[float] | None = None,
        only: Filter | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the best k chunks by the sum of each term's weight times its saturation.

        `search` is this with the weight times `idf * (k1 + 1)`.
        """

    def doc_freqs(
        self, terms: Sequence[str], *, weights: Sequence[float] | None = None
    ) -> list[int]:
        """Return how many chunks hold each term in a field of positive weight."""

    @property
    def lengths(self) -> list[int]:
        """The numbers of terms of text, outline and context, over all chunks."""

    def query_terms(
        self, texts: Sequence[str], *, langs: Sequence[str]
    ) -> list[list[tuple[str, float]]]:
        """Return the terms of each text, as the function of that name does."""

    def containing(
        self, keys: NDArray[np.int64], *, words: Sequence[str], langs: Sequence[str]
    ) -> NDArray[np.int64]:
        """Return those of the chunks, in their order, whose text holds all words.

        A word is held in any inflection of these languages; keys of no chunk are left out.
        """

    def compounds_of(self, part: str, *, k: int) -> list[str]:
        """Return at most `k` terms that have a part of a word; those that begin with it come first."""

    def similar_terms(self, word: str, *, k: int) -> list[str]:
        """Return at most k terms of the index that are spelled like a word or its stem.

        A word of 4 to 7 characters may have one edit, a longer one two: an insertion, deletion,
        replacement or swap of neighbours. Those with the fewest edits are first, then those in most
        chunks. A shorter word has none.
        """

    def chunks_with(self, term: str, *, k: int) -> NDArray[np.int64]:
        """Return at most k chunks that have a term of `analyze`, in ascending order of their keys."""

    def has_term(self, term: str) -> bool:
        """Return True if the index has a term, as `analyze` gives it, in any field."""

    def are_known(self, words: Sequence[str], *, langs: Sequence[str]) -> list[bool]:
        """Return whether the index has a term of each word, as `analyze` gives it in a language."""

@final
class Trigrams:
    """The filter of patterns: which texts have which trigrams, in `derived/trigrams-<n>.bits`."""

    @staticmethod
    def open(folder: str, *, seal_key: bytes) -> Trigrams: ...
    @property
    def faults(self) -> list[str]:
        """Files that could not be used since it was opened, each with what was done instead."""

    def check(self, store: Store) -> None:
        """Check all bytes of the published file; a damaged one is among the `faults`."""

    def publish(self, store: Store) -> None:
        """Publish the trigrams of all texts, if those of many are not, or the file is damaged.

        Raises `NoRoom`, and `ValueError` if the store is opened for reading.
        """

@final
class Dense:
    """The dense leg: a scan of `derived/vectors-<n>.f16`, or HNSW above `ann_above` rows.

    A scan reads codes of 8 bits, then the rows that can be among the best.
    """

    @staticmethod
    def open(
        folder: str,
        *,
        seal_key: bytes,
        write: bool = False,
        ann_above: int = 100_000,
    ) -> Dense: ...
    def snapshot(self) -> Dense:
        """Return a handle on the rows that this one has now; they stay as they are."""

    @property
    def seq(self) -> int: ...
    def __len__(self) -> int: ...
    @property
    def exact(self) -> bool:
        """Whether a search finds what a comparison with every row in half precision does."""

    @property
    def faults(self) -> list[str]:
        """Files that could not be used since it was opened, each with what was done instead, and
        damaged vectors, which are left out."""

    def sync(self, store: Store) -> int:
        """Apply the store's changes; return the number of documents read.

        Before the first `sync` it has no rows. The writer publishes new files, but no graph, if much
        has changed, or if a file is damaged.
        """

    def check(self, store: Store) -> None:
        """Apply the store's changes after checking all bytes of the files; `faults` names damaged ones.

        `sync` leaves codes, rows and the lists of a graph to be checked as they are read.
        """

    def publish(self, store: Store) -> None:
        """Apply the store's changes and publish them, as the last step of a build.

        Above `ann_above` rows it builds the graph, if more than a fifth of its rows have changed.
        """

    def search(
        self, query: NDArray[np.float32], *, k: int, only: Filter | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the k rows of largest inner product with the (d,) query, and the products.

        Raises `Damaged` if a row that was read is not as it was written; after the next `sync`, what
        the damaged file holds has been read from the store.
        """

    def spread(
        self, queries: NDArray[np.float32], *, only: Filter | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], int] | None:
        """Return the highest score and the mean of all rows for (n, d) queries, and the rows' number.

        All rows are scanned once. Without rows, the highest is minus infinity and the mean 0. It is
        None if there is a graph, so that a search does not compare a query with every row.
        """

def dense_topk(
    matrix: NDArray[Any],
    query: NDArray[np.float32],
    *,
    k: int,
    mask: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the k rows of largest inner product: (n, d) float32 or float16, C order; exact."""
