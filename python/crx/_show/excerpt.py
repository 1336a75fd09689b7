"""Excerpts of passages: the rows that most likely answer, and where the words of the query are."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence, Set
from functools import cache, partial
from itertools import pairwise
from typing import NamedTuple

from crx import _native
from crx._show.reflow import JoinedLine, has_sentences, join_paragraphs
from crx._show.row_choice import choose_code, choose_prose, find_terms
from crx._show.shown_text import shown_shares
from crx.types import Passage

# Characters around the hit's chunk that are laid out to choose rows from.
LAID_OUT = 8000
_WORD = re.compile(r"[^\W_]+(?:(?:['’_.-]|::|(?<=\d),(?=\d))[^\W_]+)*")
_SPACES = re.compile(r"(?<=\S) {2,}")
# What may take no column or two: all but Latin and Cyrillic letters, punctuation and arrows.
_MARKED_OR_WIDE = re.compile(
    r"[^\x00-\u02ff\u0400-\u0482\u048a-\u0523\u2010-\u2027\u2030-\u205e\u2190-\u22ff]"
)
# The name of a document for people, which may hold more source code than text.
_DOCUMENT = re.compile(
    r"\.(?:(?:md|rst)(?:\.txt)?|markdown|html?|xhtml|adoc|org|tex|pod|pdf|docx|odt|epub|rtf|[1-9])"
    r"(?:\.(?:gz|bz2|xz|zst))?$",
    re.IGNORECASE,
)
# A row of brackets, quotes and punctuation with a bracket or quote, matched in linear time.
_BRACKETS = re.compile(r"(?=.*[\[\](){}\"'`])[\s\[\](){}<>\"'`;:,.]+")
# A comment, which may go on behind the text, and the rest of one that begins before it. The blanks
# around tell them from patterns of paths.
_COMMENT = re.compile(r"(?<!\S)/\*.*?(?:\*/|\Z)", re.DOTALL)
_COMMENT_REST = re.compile(r"(?:(?!/\*).)*?\*/(?!\S)", re.DOTALL)


class ExcerptRow(NamedTuple):
    """A line of text, a part of one or of several that are joined, and the lines it is from.

    The lines are the first and the last of the passage, counted from 0.
    """

    text: str
    line: int
    last_line: int


class ShownRows(NamedTuple):
    """Rows of a passage, in fragments, and whether others stand before and after them.

    The rows of a fragment follow each other; between two fragments others are left out.
    """

    fragments: tuple[tuple[ExcerptRow, ...], ...]
    cut_before: bool
    cut_after: bool

    @property
    def rows(self) -> tuple[ExcerptRow, ...]:
        """The rows of all fragments."""
        return tuple(row for fragment in self.fragments for row in fragment)


def find_excerpt(
    passage: Passage,
    *,
    query: str,
    counts: Sequence[int],
    width: int,
    visible: Callable[[str], str],
    shown: Set[str] = frozenset(),
    reflow: bool = False,
) -> ShownRows:
    """Return rows of a passage, none of them blank: a piece of each hit that has a count.

    `counts` are how many rows of each hit are shown, best first. A hit with more rows is cut to the
    piece that most likely answers, by its terms of the query; what other hits leave goes to the
    text beside the best. Rules of tables and other lines without a letter or digit count as blank,
    except in source code, where brackets that have a row of their own join the row before.
    `visible` returns the form in which a line is shown. `shown` are the n-grams of the passages
    above, whose text is not shown again. With `reflow` the lines of a paragraph are one.
    """
    first, parts, hit_numbers = _parts_by_hit(passage)
    first_line = passage.text.count("\n", 0, first)
    is_code = shows_code(passage)
    by_line = partial(_layout_joined, layout_rows) if is_code else layout_rows
    lay_out = layout_of(passage) if reflow else by_line
    by_part = lay_out(parts, width=width, visible=visible, first_line=first_line)
    placed = [
        (row, numbers)
        for part, numbers in zip(by_part, hit_numbers, strict=True)
        for row in part
        if row.text
    ]
    if not is_code:
        worded = {row.line for row, _ in placed if any(map(str.isalnum, row.text))}
        placed = [each for each in placed if each[0].line in worded] or placed
    rows = [row for row, _ in placed]
    texts = [row.text for row in rows]
    terms = find_terms(texts, query=query, known=_document_terms(passage))
    hits = _rows_of_hits([numbers for _, numbers in placed], count=len(counts))
    if is_code:
        lines = [row.line for row in rows]
        windows = choose_code(terms, texts, hits, counts=counts, lines=lines)
    else:
        fullness = [columns(text) / width for text in texts]
        already = shown_shares(texts, shown)
        leads = frozenset(
            at for at, text in enumerate(texts) if text.rstrip().endswith((":", "："))
        )
        windows = choose_prose(terms, fullness, already, hits, counts=counts, leads=leads)
    return ShownRows(
        fragments=tuple(tuple(rows[window.start : window.stop]) for window in windows),
        cut_before=windows[0].start > 0,
        cut_after=windows[-1].stop < len(rows),
    )


def shows_code(passage: Passage) -> bool:
    """Return whether a passage is source code, of which pieces are shown, and no manual with it."""
    return _native.is_source_code(passage.text) and not _is_manual(passage)


def layout_of(passage: Passage) -> Callable[..., list[list[ExcerptRow]]]:
    """Return the function that lays out a passage, with the lines of a paragraph as one."""
    if not _native.is_source_code(passage.text):
        return layout_prose
    return partial(_layout_joined, layout_prose) if _is_manual(passage) else _layout_code


def _is_manual(passage: Passage) -> bool:
    """Return whether a passage with source code is of a document for people, and has sentences."""
    return bool(_DOCUMENT.search(passage.uri)) and has_sentences(passage.text)


def layout_rows(
    parts: Sequence[str], *, width: int, visible: Callable[[str], str], first_line: int = 0
) -> list[list[ExcerptRow]]:
    """Return the rows of each part; a row names its line, counted over all parts."""
    found: list[list[ExcerptRow]] = []
    line = first_line
    for part in parts:
        rows: list[ExcerptRow] = []
        for at, text in enumerate(part.split("\n")):
            line += at > 0
            shown = visible(text).expandtabs(4)
            rows += [ExcerptRow(row, line, line) for row in wrap(shown, width)]
        found.append(rows)
    return found


def layout_prose(
    parts: Sequence[str], *, width: int, visible: Callable[[str], str], first_line: int = 0
) -> list[list[ExcerptRow]]:
    """Return the rows of each part, as `layout_rows` does, with the lines of a paragraph as one."""
    found: list[list[ExcerptRow]] = []
    line = first_line
    for part in parts:
        rows: list[ExcerptRow] = []
        lines = [visible(text).expandtabs(4) for text in part.split("\n")]
        at = line
        for joined in join_paragraphs(lines):
            rows += _rows_of_paragraph(joined, width, first_line=at)
            at += len(joined.starts)
        found.append(rows)
        line += len(lines) - 1
    return found


def _rows_of_paragraph(joined: JoinedLine, width: int, *, first_line: int) -> Iterator[ExcerptRow]:
    """Yield the rows of a paragraph, each with the lines that it has text of."""
    if len(joined.starts) == 1:
        for row in wrap(joined.text, width):
            yield ExcerptRow(row, first_line, first_line)
        return
    # All rows begin below the text of the first, which the marker of a list may precede.
    indent = max(0, min(joined.indent, width // 2))
    end = indent
    for row in wrap(joined.text[indent:], width - indent):
        start = joined.text.find(row, end)
        before = " " * indent if end > indent else joined.text[:indent]
        end = start + len(row)
        lines = (bisect_right(joined.starts, at) - 1 for at in (start, end - 1))
        yield ExcerptRow(before + row, *(first_line + line for line in lines))


def _layout_code(
    parts: Sequence[str], *, width: int, visible: Callable[[str], str], first_line: int = 0
) -> list[list[ExcerptRow]]:
    """Return the rows of each part of source code that are not blank.

    Brackets that have a row of their own join the row before, if they fit there. The lines of a
    paragraph, as in a string that documents a function, are one if one of them does not fit into
    a row. Those of comments, with a mark on each line or between `/*` and `*/`, stay as they are:
    what is printed can be found in the source.
    """
    found: list[list[ExcerptRow]] = []
    comments = _lines_of_comments("".join(parts))
    line = first_line
    for part in parts:
        rows: list[ExcerptRow] = []
        lines = [visible(text).expandtabs(4) for text in part.split("\n")]
        apart = {
            at
            for at, text in enumerate(lines)
            if line - first_line + at in comments or _BRACKETS.fullmatch(text)
        }
        at = 0
        for joined in join_paragraphs(lines, apart=apart):
            count = len(joined.starts)
            own = lines[at : at + count]
            if count > 1 and max(map(columns, own)) > width:
                rows += _rows_of_paragraph(joined, width, first_line=line + at)
            else:
                rows += [
                    ExcerptRow(row, number, number)
                    for number, text in enumerate(own, start=line + at)
                    for row in wrap(text, width)
                ]
            at += count
        found.append(_join_brackets(rows, width))
        line += len(lines) - 1
    return found


def _lines_of_comments(text: str) -> set[int]:
    """Return the lines that have text of a comment between `/*` and `*/`, counted from 0."""
    found = filter(None, [_COMMENT_REST.match(text), *_COMMENT.finditer(text)])
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return {
        line
        for comment in found
        for line in range(
            bisect_right(starts, comment.start()) - 1, bisect_right(starts, comment.end() - 1)
        )
    }


def _layout_joined(
    lay_out: Callable[..., list[list[ExcerptRow]]],
    parts: Sequence[str],
    *,
    width: int,
    visible: Callable[[str], str],
    first_line: int = 0,
) -> list[list[ExcerptRow]]:
    """Return the rows that a function lays out, joined as those of `_layout_code` are."""
    by_part = lay_out(parts, width=width, visible=visible, first_line=first_line)
    return [_join_brackets(rows, width) for rows in by_part]


def _join_brackets(rows: Sequence[ExcerptRow], width: int) -> list[ExcerptRow]:
    joined: list[ExcerptRow] = []
    for row in rows:
        if joined and _BRACKETS.fullmatch(row.text):
            text = f"{joined[-1].text.rstrip()} {row.text.strip()}"
            if columns(text) <= width:
                joined[-1] = joined[-1]._replace(text=text, last_line=row.last_line)
                continue
        if row.text.strip():
            joined.append(row)
    return joined


def split_matches(row: str, terms: set[str]) -> list[tuple[str, bool]]:
    """Return the pieces of a row, each with whether it is a word of the query.

    `terms` are those of the query as `terms_for` gives them.
    """
    spans = sorted(_find_matches(row, terms))
    pieces: list[tuple[str, bool]] = []
    end = 0
    for start, stop in spans:
        if stop <= end:
            continue
        pieces += [(row[end:start], False)] if start > end else []
        pieces.append((row[max(start, end) : stop], True))
        end = stop
    return [*pieces, (row[end:], False)] if end < len(row) else pieces


def columns(text: str) -> int:
    """Return how many columns a text takes; wide characters take two."""
    return len(text) if _is_narrow(text) else sum(map(columns_of, text))


def _is_narrow(text: str) -> bool:
    """Return whether each character takes one column, as those of Latin scripts do."""
    return text.isascii() or not _MARKED_OR_WIDE.search(text)


@cache
def columns_of(character: str) -> int:
    """Return how many columns a character takes: 0, 1 or 2."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrap(line: str, width: int) -> list[str]:
    """Return the rows of a line, each of at most `width` columns.

    A row ends at a space if there is one in its second half. Runs of spaces within a line that does
    not fit into a row become one space.
    """
    line = line.rstrip()
    if len(line) <= width and _is_narrow(line):
        return [line]
    if columns(line) > width:
        line = _SPACES.sub(" ", line)
    most = max(width, 2)
    if _is_narrow(line):
        return _wrap_narrow(line, most)
    rows: list[str] = []
    start = column = space = 0
    for at, character in enumerate(line):
        wide = columns_of(character)
        if column + wide > most:
            end = space + 1 if space >= (start + at) // 2 else at
            rows.append(line[start:end].rstrip())
            start, column = end, columns(line[end:at])
        column += wide
        if character == " ":
            space = at
    return [*rows, line[start:]]


def _wrap_narrow(line: str, width: int) -> list[str]:
    """Return the rows of a line of which each character takes one column, as `wrap` does."""
    rows: list[str] = []
    start = 0
    while len(line) - start > width:
        full = start + width
        space = line.rfind(" ", start, full)
        end = space + 1 if space >= (start + full) // 2 else full
        rows.append(line[start:end].rstrip())
        start = end
    return [*rows, line[start:]]


def _find_matches(row: str, terms: set[str]) -> Iterator[tuple[int, int]]:
    words = (word.span() for word in _WORD.finditer(row))
    unspaced = _native.unspaced_spans(row)
    spaced = (
        span for span in words if not (unspaced and _native.unspaced_spans(row[slice(*span)]))
    )
    for start, end in spaced:
        if terms.intersection(_native.analyze(row[start:end])):
            yield start, end
    for start, end in unspaced:
        # Three letters of Thai hold the terms of two; the span is that of the longest.
        if max(_native.analyze(row[start:end]), key=len, default="") in terms:
            yield start, end


def _parts_by_hit(passage: Passage) -> tuple[int, list[str], list[list[int]]]:
    """Return where the text around the best hit begins, its parts, and the hits that hold each.

    A part ends where the chunk of a hit begins or ends. The hits are numbered as in the passage.
    """
    text = passage.text
    spans = [
        (max(0, hit.start - passage.start), min(len(text), hit.end - passage.start))
        for hit in passage.hits
    ]
    first = max(0, spans[0][0] - LAID_OUT)
    last = min(len(text), spans[0][0] + 2 * LAID_OUT)
    borders = sorted({first, last, *(at for span in spans for at in span if first < at < last)})
    parts = list(pairwise(borders))
    holders = [
        [number for number, (start, end) in enumerate(spans) if start <= at and stop <= end]
        for at, stop in parts
    ]
    return first, [text[at:stop] for at, stop in parts], holders


def _rows_of_hits(holders: Sequence[Sequence[int]], *, count: int) -> list[range]:
    """Return the rows of each of the first hits, given the numbers of the hits that hold each row.

    A hit that is not laid out has none.
    """
    spans = [range(0)] * count
    for at, numbers in enumerate(holders):
        for number in numbers:
            if number < count:
                start = spans[number].start if spans[number] else at
                spans[number] = range(start, at + 1)
    return spans


def _document_terms(passage: Passage) -> set[str]:
    """Return the terms of the title, and of the outlines of the hits' chunks."""
    outlines = dict.fromkeys(hit.outline for hit in passage.hits)
    return set(_native.analyze(" ".join((passage.title, *outlines))))
