"""Printing: answers to stdout, notes to stderr, every character of them safe to show.

Every function here makes control characters visible; the only escape sequences that reach a
terminal are those of `bold`, `dim`, `colored` and `linked`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import IO, NamedTuple
from urllib.parse import quote

import click

from crx._cli.screen import shows_styles
from crx._cli.visible import visible_json, visible_line, visible_text
from crx._show.notes import choose_notes
from crx.ingest.paths import uri_of

_URL_CHARACTERS = "%/:=&?~#+!$,;'@()*[]"


class _Styled(NamedTuple):
    """A text with the style in which a terminal shows it, and the URL it is linked to."""

    text: str
    bold: bool = False
    dim: bool = False
    color: str | None = None
    url: str = ""

    def __str__(self) -> str:
        return self.text


Text = str | _Styled


def bold(text: str, *, url: str = "") -> _Styled:
    """Return the text in bold, linked to a URL if one is given."""
    return _Styled(text, bold=True, url=url)


def linked(text: str, url: str) -> _Styled:
    """Return the text linked to a URL, "" for none; see `crx._cli.links`."""
    return _Styled(text, url=url)


def dim(text: str) -> _Styled:
    """Return the text in a fainter color."""
    return _Styled(text, dim=True)


def colored(text: str, color: str) -> _Styled:
    """Return the text in one of the terminal's eight colors."""
    return _Styled(text, color=color)


def print_line(*parts: Text) -> None:
    """Print parts of the answer as one line; a newline in them is made visible."""
    click.echo(format_line(parts, is_styled=shows_styles(os.environ)))


def print_text(text: str) -> None:
    """Print lines of the answer, such as a document's text or a table, and a newline."""
    click.echo(visible_text(text))


def print_piece(text: str) -> None:
    """Print a piece of the answer that more will follow."""
    click.echo(visible_text(text), nl=False)


def print_aside(text: str) -> None:
    """Print lines on stderr, and a newline."""
    click.echo(visible_text(text), err=True)


def print_note(text: str) -> None:
    """Print one line on stderr, under the program's name."""
    # Not `err=True`, which writes past the bar that a run shows there.
    click.echo(f"crx: {visible_line(text)}", file=sys.stderr)


class NotePrinter:
    """Prints notes on stderr, each once."""

    def __init__(self) -> None:
        self._printed: set[str] = set()

    def print(self, *notes: str) -> None:
        """Print the notes that were not printed before."""
        for note in notes:
            if note not in self._printed:
                self._printed.add(note)
                print_note(note)


def print_hint(*parts: str) -> None:
    """Print a dim line on stderr about what more there is; nothing in a pipe."""
    if sys.stdout.isatty() and sys.stderr.isatty():
        line = format_line([dim(" · ".join(parts))], is_styled=shows_styles(os.environ))
        click.echo(line, file=sys.stderr)


def print_notes(notes: Sequence[str], *, passages: int) -> None:
    """Print the notes of a search as `choose_notes` gives them."""
    for line in choose_notes(notes, passages=passages):
        print_note(line)


def print_json(value: object) -> None:
    """Print the answer as indented JSON."""
    click.echo(to_json(value, indent=True))


def print_json_line(value: object, *, file: IO[str] | None = None) -> None:
    """Print a value as JSON on a line of its own, on stderr unless a file is given."""
    click.echo(to_json(value), file=file or sys.stderr)


def to_json(value: object, *, indent: bool = False) -> str:
    """Return a value as JSON without a character that a terminal would obey."""
    import orjson  # 10 ms that most commands do not pay

    options = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    try:
        encoded = orjson.dumps(value, option=options).decode()
    except orjson.JSONEncodeError:
        # A name that is not UTF-8 holds surrogates, which orjson refuses and JSON can escape.
        encoded = json.dumps(value, indent=2 if indent else None)
    return visible_json(encoded)


def display_path(path: str | os.PathLike[str], *, folder: str = ".") -> str:
    """Return a path or the URI of a file on one line, relative to a folder if below it.

    Bytes that are not UTF-8 are shown as in `uri_of`.
    """
    text = os.fsencode(path).decode("utf-8", errors="backslashreplace")
    if os.path.isabs(text):
        relative = os.path.relpath(text, uri_of(folder))
        text = text if relative.startswith("..") else relative
    return visible_line(text)


def format_line(parts: Sequence[Text], *, is_styled: bool) -> str:
    """Return parts as one line, in their styles or without; a newline in them is made visible."""
    return "".join(
        _styled(part) if is_styled and isinstance(part, _Styled) else visible_line(str(part))
        for part in parts
    )


def _styled(part: _Styled) -> str:
    text = visible_line(part.text)
    if not text:
        return text
    styled = click.style(text, fg=part.color, bold=part.bold or None, dim=part.dim or None)
    if not part.url:
        return styled
    # What a URL may hold, so that none of its characters ends the sequence or begins another.
    url = quote(part.url, safe=_URL_CHARACTERS)
    return f"\x1b]8;;{url}\x1b\\{styled}\x1b]8;;\x1b\\"
