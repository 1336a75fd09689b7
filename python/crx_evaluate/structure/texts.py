"""Candidates from the text and the marks of a document alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from crx.types import Document
from crx_evaluate.datasets import GoldSpan
from crx_evaluate.structure.answers import pieces
from crx_evaluate.structure.candidates import Candidate, is_question, without_number

# Characters beside a caption in which its table begins or ends.
BESIDE_CHARS = 400
_MAN_TERM = re.compile(r"^( *)(\S[^\n]{0,78})\n\1 +(?=\S)", re.MULTILINE)
# With one dash, a query would exclude the word.
_OPTION = re.compile(r"(?<![\w-])--[A-Za-z0-9][\w-]+")
_CALL = re.compile(r"(?<=\w)[(\[<{=].*", re.DOTALL)
# Letters and digits, and characters, of a term that is asked for.
_MIN_LETTERS, _MAX_NAME_CHARS = 3, 60
_AROUND_NAME = " $#<>[]{}\"'`:,;…"
_SECTION_NUMBER = re.compile(r"\(\w+\).*")
_CAPTION = re.compile(
    r"^[ \t]*((?:table|listing|tableau|tabelle|bảng|جدول|表) ?\d+(?:[.-]\d+)*"
    r"[ .:：–—-]+\S[^\n]{3,100})$",
    re.IGNORECASE | re.MULTILINE,
)
_REPLY = re.compile(
    r"^(?:(?:re|fwd?|aw|wg|tr|sv|antw)(?:\[\d+\])?\s*:\s*|\[[^\]]{1,40}\]\s*)+", re.I
)
_BODY = re.compile(r"\n\s*\n")


def headings(document: Document) -> Iterator[Candidate]:
    """Yield a question for each heading with text of its own."""
    starts = sorted(mark.start for mark in document.marks if mark.kind == "heading")
    for mark in document.marks:
        query = without_number(mark.label)
        if mark.kind != "heading" or not is_question(query):
            continue
        below = document.text.find("\n", mark.start)
        end = min([start for start in starts if start > mark.start] or [mark.end])
        if mark.start <= below < end:
            yield Candidate(
                "heading",
                query,
                document.uri,
                document.uri,
                target=f"{document.uri}#{mark.start}",
                answers=partial(pieces, document, below, end),
            )


def captions(document: Document) -> Iterator[Candidate]:
    """Yield a question for each line that is the caption of a table or listing.

    The answer is beside it, above or below. Pages of HTML name their captions.
    """
    if document.metadata.get("format") == "html":
        return
    for match in _CAPTION.finditer(document.text):
        query = without_number(match[1])
        if is_question(query):
            yield Candidate(
                "caption",
                query,
                document.uri,
                document.uri,
                target=f"{document.uri}#{match.start()}",
                answers=partial(_around, document, *match.span()),
            )


def man_terms(document: Document) -> Iterator[Candidate]:
    """Yield a question for each option and each other term of a man page."""
    if document.metadata.get("format") != "man":
        return
    for match in _MAN_TERM.finditer(document.text):
        answer = match.end()
        end = document.text.find("\n", answer)
        found = partial(_first_piece, document, answer, len(document.text) if end < 0 else end)
        yield from term(match[2], document, target=f"{document.uri}#{answer}", answers=found)


def term(
    written: str, document: Document, *, target: str, answers: Callable[[], tuple[GoldSpan, ...]]
) -> Iterator[Candidate]:
    """Yield a question for a term as it is written: the longest option in it, or its name."""
    options = _OPTION.findall(written)
    name = max(options, key=len) if options else _CALL.sub("", written).strip(_AROUND_NAME)
    is_name = sum(map(str.isalnum, name)) >= _MIN_LETTERS and len(name) <= _MAX_NAME_CHARS
    if is_name and (options or name[0] != "-"):
        yield Candidate(
            "option" if options else "term",
            name,
            document.uri,
            document.uri,
            target=target,
            answers=answers,
            name=_SECTION_NUMBER.sub("", document.title).strip(),
        )


def subjects(document: Document) -> Iterator[Candidate]:
    """Yield the subject of a mail, which asks for any mail of its thread."""
    if document.metadata.get("format") not in ("eml", "msg"):
        return
    query = _REPLY.sub("", document.title).strip()
    body = _BODY.search(document.text)
    if body and is_question(query):
        yield Candidate(
            "subject",
            query,
            document.uri,
            document.uri,
            target=query.casefold(),
            answers=partial(pieces, document, body.end(), len(document.text)),
            cut_from=(document.uri,),
        )


def _first_piece(document: Document, start: int, end: int) -> tuple[GoldSpan, ...]:
    return pieces(document, start, end)[:1]


def _around(document: Document, start: int, end: int) -> tuple[GoldSpan, ...]:
    """Return the pieces before and after a line, as near as a table is."""
    before = pieces(document, max(0, start - BESIDE_CHARS), start)[-1:]
    return before + pieces(document, end, min(len(document.text), end + BESIDE_CHARS))[:1]
