"""Markdown as HTML: its blocks and inline elements, no markup of its own, no images."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from crx_serve.page.coloured_code import ColouringTime, read_tokens
from crx_serve.page.markup_writer import MarkupWriter, check_url

# Elements by the type of their token. Headings are one level lower: the page has the first.
_BLOCKS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
}
_HEADINGS = {"h1": "h2", "h2": "h3", "h3": "h4", "h4": "h5", "h5": "h6", "h6": "h6"}
_INLINE = {"em": "em", "strong": "strong", "s": "s"}
# Blocks that hold text and no other blocks; rows of tables are marked as a whole.
_LEAVES = ("paragraph", "heading", "tr")

# Returns the URL of the document that a relative link leads to, or "".
Resolve = Callable[[str], str]


def render_markdown(
    text: str, *, lines: tuple[int, int] | None, terms: set[str], resolve: Resolve
) -> Markup:
    """Return a text as HTML; blocks of the lines (first, last), counted from 0, are the span."""
    writer = MarkupWriter(terms)
    time_left = ColouringTime()
    for token in _parser().parse(text):
        _write_block(token, writer, lines=lines, resolve=resolve, time_left=time_left)
    return writer.finish()


@functools.cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _write_block(
    token: Token,
    writer: MarkupWriter,
    *,
    lines: tuple[int, int] | None,
    resolve: Resolve,
    time_left: ColouringTime,
) -> None:
    kind = token.type.removesuffix("_open").removesuffix("_close")
    is_span = bool(lines and token.map and token.map[0] <= lines[1] and token.map[1] > lines[0])
    if token.type == "inline":
        _write_inline(token.children or (), writer, resolve=resolve)
    elif kind in ("fence", "code_block"):
        writer.start("pre", is_span=is_span)
        writer.start("code")
        writer.marks_words = is_span
        for css, text in read_tokens(token.content, token.info.strip(), time_left=time_left):
            writer.token(text, css=css)
        writer.marks_words = False
        writer.end()
        writer.end()
    elif kind == "hr":
        writer.start("hr")
    elif token.nesting < 0:
        writer.end()
        if kind in _LEAVES:
            writer.marks_words = False
    elif kind == "heading" or kind in _BLOCKS:
        element = _HEADINGS[token.tag] if kind == "heading" else _BLOCKS[kind]
        marked = is_span and kind in _LEAVES
        number = int(token.attrs.get("start", 1)) if kind == "ordered_list" else 1
        css = "tight" if token.hidden else ""
        writer.start(element, css=css, number=number, is_span=marked)
        if kind in _LEAVES:
            writer.marks_words = marked
    else:
        writer.text(token.content)  # of a kind that the parser does not make


def _write_inline(tokens: Sequence[Token], writer: MarkupWriter, *, resolve: Resolve) -> None:
    for token in tokens:
        kind = token.type.removesuffix("_open").removesuffix("_close")
        if token.nesting < 0:
            writer.end()
        elif kind in _INLINE:
            writer.start(_INLINE[kind])
        elif kind == "link":
            url = check_url(str(token.attrs.get("href", "")), resolve=resolve)
            writer.start("a" if url else "span", url=url)
        elif kind == "code_inline":
            writer.start("code")
            writer.text(token.content)
            writer.end()
        elif kind == "hardbreak":
            writer.start("br")
        elif kind == "softbreak":
            writer.text("\n")
        elif kind == "image":
            writer.start("span", css="image")
            writer.text(token.content or "image")
            writer.end()
        else:
            writer.text(token.content)
