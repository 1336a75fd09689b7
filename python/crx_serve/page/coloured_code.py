"""Source code in colours: the kinds of its tokens as classes."""

from __future__ import annotations

import time

from markupsafe import Markup
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Literal, Name, Operator, String, _TokenType
from pygments.util import ClassNotFound

from crx.ingest.formats import LANGUAGES
from crx_serve.page.markup_writer import MarkupWriter

# Classes by kind of token; the first kind that holds it counts.
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "tok-comment"),
    (String, "tok-string"),
    (Literal, "tok-number"),
    (Keyword, "tok-keyword"),
    (Operator.Word, "tok-keyword"),
    (Name.Function, "tok-name"),
    (Name.Class, "tok-name"),
    (Name.Decorator, "tok-name"),
    (Name.Builtin, "tok-builtin"),
)
# Languages with colours: those that are indexed as source code, and those of examples in Markdown.
_EXAMPLES = ("bash", "json", "sh", "sql", "toml", "yaml")
_LANGUAGES = frozenset((*LANGUAGES.values(), *_EXAMPLES))
# Processor time for the colours of one page: some sources take a lexer the square of their length.
_COLOURING_S = 0.5


class ColouringTime:
    """The processor time that is left for the colours of one page."""

    def __init__(self, seconds: float = _COLOURING_S) -> None:
        self.left = seconds


def colour_code(
    text: str, *, language: str, span: tuple[int, int], terms: set[str]
) -> list[Markup]:
    """Return the lines of a source in colours, without colours if the language is not known.

    The words of the query are marked within a span of characters.
    """
    lines: list[Markup] = []
    writer = MarkupWriter(terms)
    at = 0
    for css, value in read_tokens(text, language, time_left=ColouringTime()):
        for number, piece in enumerate(value.split("\n")):
            if number:
                lines.append(writer.finish())
                writer = MarkupWriter(terms)
                at += 1
            writer.marks_words = span[0] < at + len(piece) and at < span[1]
            writer.token(piece, css=css)
            at += len(piece)
    return [*lines, writer.finish()]


def read_tokens(text: str, language: str, *, time_left: ColouringTime) -> list[tuple[str, str]]:
    """Return the tokens of a text with their classes; together they are the text.

    What is left of the text when the time is over is one token without a class.
    """
    lexer = _find_lexer(language)
    if lexer is None or time_left.left <= 0:
        return [("", text)]
    began = time.thread_time()
    found = []
    for _, kind, value in lexer.get_tokens_unprocessed(text):
        found.append((_find_class(kind), value))
        if time.thread_time() - began > time_left.left:
            break
    time_left.left -= time.thread_time() - began
    coloured = "".join(value for _, value in found)
    if not text.startswith(coloured):
        return [("", text)]
    rest = text[len(coloured) :]
    return [*found, ("", rest)] if rest else found


def _find_lexer(language: str) -> Lexer | None:
    if language not in _LANGUAGES:
        return None
    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


def _find_class(kind: _TokenType) -> str:
    return next((css for held, css in _CLASSES if kind in held), "")
