"""Passages as a Python prompt and a notebook show them.

Texts and names come from documents, so control characters are escaped in text and everything is in
HTML, which holds no link and loads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from crx._controls import CONTROLS
from crx.labels import count_label, document_label

_LINE_CHARS = 60
_SHOWN_CHARS = 600
_SHOWN_PASSAGES = 20
# Not by `html.escape`: a search imports this module, and the table of that one takes a millisecond.
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
_PRE = "white-space: pre-wrap; margin: 0.2em 0 0.8em; text-align: left"


class _Labelled(Protocol):
    """An anchor."""

    @property
    def label(self) -> str: ...


class _NotebookPassage(Protocol):
    """What is shown of a passage."""

    @property
    def uri(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def headings(self) -> Sequence[str]: ...
    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def pages(self) -> tuple[str, str] | None: ...
    @property
    def line(self) -> int | None: ...
    @property
    def lines(self) -> tuple[int, int] | None: ...
    @property
    def anchor(self) -> _Labelled | None: ...


class _ShownResult(Protocol):
    """What is shown of a result."""

    @property
    def passages(self) -> Sequence[_NotebookPassage]: ...
    @property
    def hits(self) -> Sequence[object]: ...
    @property
    def notes(self) -> Sequence[str]: ...
    def __len__(self) -> int: ...


def describe_passage(passage: _NotebookPassage) -> str:
    """Return the location, the score and the start of the text of a passage in one line."""
    opening = " ".join(passage.text[: 4 * _LINE_CHARS].split())
    cut = opening if len(opening) <= _LINE_CHARS else f"{opening[: _LINE_CHARS - 1]}…"
    return f"<Passage {_location(passage)!r}, score {passage.score:.3f}: {cut!r}>"


def describe_result(result: _ShownResult) -> str:
    """Return the number of passages, a line for each of the first, and the notes."""
    shown = result.passages[:_SHOWN_PASSAGES]
    passages, hits = count_label(len(result), "passage"), count_label(len(result.hits), "hit")
    lines = [f"<Result of {passages}, {hits}>"]
    lines += [f"{at}. {describe_passage(each)}" for at, each in enumerate(shown, 1)]
    if len(result) > len(shown):
        lines.append(f"and {len(result) - len(shown)} more")
    return "\n".join([*lines, *(f"note: {note!r}" for note in result.notes)])


def passage_html(passage: _NotebookPassage) -> str:
    """Return a passage as HTML: title, location, headings, and the start of its text."""
    title = document_label(passage.title, passage.uri)
    headings = f"<div>{_escape(' › '.join(passage.headings))}</div>" if passage.headings else ""
    rest = "…" if len(passage.text) > _SHOWN_CHARS else ""
    return (
        f"<div><b>{_escape(title)}</b> <code>{_escape(_location(passage))}</code> "
        f"<small>{passage.score:.3f}</small>{headings}"
        f'<pre style="{_PRE}">{_escape(passage.text[:_SHOWN_CHARS])}{rest}</pre></div>'
    )


def result_html(result: _ShownResult) -> str:
    """Return the first passages of a result as a list in HTML, and the notes."""
    shown = result.passages[:_SHOWN_PASSAGES]
    items = "".join(f"<li>{passage_html(each)}</li>" for each in shown)
    more = f"<p>and {len(result) - len(shown)} more</p>" if len(result) > len(shown) else ""
    notes = "".join(f"<p><small>{_escape(note)}</small></p>" for note in result.notes)
    return f"<ol>{items}</ol>{more}{notes}" if items else f"<p>nothing found</p>{notes}"


def _escape(text: str) -> str:
    """Return text for HTML, with each control character as the replacement character."""
    return re.sub(CONTROLS, "\ufffd", text.replace("\r\n", "\n")).translate(_MARKUP)


def _location(passage: _NotebookPassage) -> str:
    """Return the URI with the pages of the passage, else with its lines and its anchor."""
    if passage.pages:
        first, last = passage.pages
        noun = "page" if first == last else "pages"
        return f"{passage.uri}, {noun} {_span(first, last)}"
    span = (passage.line, passage.line) if passage.line else passage.lines
    lines = f":{_span(*span)}" if span else ""
    anchor = f", {passage.anchor.label}" if passage.anchor else ""
    return f"{passage.uri}{lines}{anchor}"


def _span(first: int | str, last: int | str) -> str:
    return str(first) if first == last else f"{first}-{last}"
