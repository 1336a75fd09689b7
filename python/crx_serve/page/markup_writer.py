"""A writer of HTML that knows the few elements and attributes that a document may be shown with.

What a document says becomes text, the target of a link that was checked, or the number of a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from markupsafe import Markup, escape

from crx_serve.page.templates import escape_text
from crx_serve.page.text_pieces import split_words

_ELEMENTS = frozenset((
    "p", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "hr", "table",
    "thead", "tbody", "tr", "th", "td", "em", "strong", "s", "a", "br", "span", "div", "mark",
))  # fmt: skip
_CLASS = re.compile(r"[a-z0-9 -]*")
_SCHEMES = ("http", "https", "mailto")
_NO_END = frozenset(("hr", "br"))


class MarkupWriter:
    """Collects elements and text; `terms` are marked while `marks_words` is true."""

    def __init__(self, terms: set[str]) -> None:
        self._terms = terms
        self._parts: list[str] = []
        self._open: list[str] = []
        self._has_passage = False
        self.marks_words = False

    def start(
        self, element: str, *, css: str = "", url: str = "", number: int = 1, is_span: bool = False
    ) -> None:
        """Start an element; the first that is of the span is what the page is scrolled to."""
        if element not in _ELEMENTS or not _CLASS.fullmatch(css):
            raise ValueError(f"no element that is shown: {element} {css}")
        given = ""
        if is_span:
            css = f"{css} span".strip()
            if not self._has_passage:
                given += ' id="passage"'
                self._has_passage = True
        if css:
            given += f' class="{css}"'
        if url:
            given += f' href="{escape(url)}" rel="noreferrer noopener nofollow"'
        if number != 1:
            given += f' start="{number:d}"'
        self._parts.append(f"<{element}{given}>")
        if element not in _NO_END:
            self._open.append(element)

    def end(self) -> None:
        """End the innermost element."""
        self._parts.append(f"</{self._open.pop()}>")

    def text(self, text: str) -> None:
        """Add text; the words of the query are marked in what belongs to the span."""
        if not (self.marks_words and self._terms):
            self._parts.append(escape_text(text))
            return
        for piece, kind in split_words(text, self._terms):
            escaped = escape_text(piece)
            self._parts.append(f"<mark>{escaped}</mark>" if kind == "word" else escaped)

    def token(self, text: str, *, css: str) -> None:
        """Add a token of source code, as text alone if it has no class."""
        if not (css and text):
            self.text(text)
            return
        self.start("span", css=css)
        self.text(text)
        self.end()

    def finish(self) -> Markup:
        """End what is open, and return the markup."""
        while self._open:
            self.end()
        return Markup("".join(self._parts))


def check_url(url: str, *, resolve: Callable[[str], str]) -> str:
    """Return the target of a link that is followed, "" for one that is not.

    A relative one is resolved by `resolve`, as it is written with its query and its fragment;
    `resolve` returns "" if it leads to no document.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme:
        return url if parts.scheme.lower() in _SCHEMES else ""
    return resolve(url) if (parts.path or parts.query) and not parts.netloc else ""
