"""`crx open`, and the opening of a document: a text in the editor, anything else by the system."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import click

from crx._cli.last_search import find_hit
from crx._cli.output import display_path
from crx.errors import UsageError
from crx.ingest.paths import path_of

_WEB = ("http://", "https://")
# How editors are told a line, by the names of their programs; of others, vi's way.
_GOTO = ("--goto", "{path}:{line}")
_LINES = {
    "code": _GOTO,
    "code-insiders": _GOTO,
    "codium": _GOTO,
    "cursor": _GOTO,
    "hx": ("{path}:{line}",),
    "kate": ("--line", "{line}", "{path}"),
    "subl": ("{path}:{line}",),
    "windsurf": _GOTO,
    "zed": ("{path}:{line}",),
}
_USUAL = ("+{line}", "{path}")


def open_document(uri: str, *, line: int | None, original: bool = False) -> None:
    """Open a document at a line in the user's editor, or what has no lines by the system.

    With `original` the system opens texts, too. Raises `UsageError` if the file is gone, or nothing
    opens it.
    """
    if uri.startswith(_WEB):
        _launch(uri)
        return
    path = _existing_file(uri)
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if original or line is None or not editor:
        _launch(path)
        return
    command = editor_command(editor, path, line=line)
    try:
        subprocess.run(command, check=True)
    except OSError:
        raise UsageError(f"{command[0]}: no such editor; set EDITOR to one") from None
    except subprocess.CalledProcessError as error:
        raise UsageError(f"{command[0]}: the editor ended with {error.returncode}") from None


def editor_command(editor: str, path: str, *, line: int) -> list[str]:
    """Return the command by which an editor, as EDITOR names it, opens a file at a line.

    Raises `UsageError` if it names none.
    """
    try:
        words = shlex.split(editor)
    except ValueError:  # a quotation that does not end
        words = []
    if not words:
        raise UsageError(f"{editor!r} is no command; set VISUAL or EDITOR to an editor")
    form = _LINES.get(Path(words[0]).stem, _USUAL)
    return [*words, *(each.format(path=path, line=line) for each in form)]


def _existing_file(uri: str) -> str:
    """Return the file of a document, of which fragments may name a part, and a part of that."""
    path = path_of(uri)
    while path:
        if os.path.isfile(path):
            return path
        path = path.rpartition("#")[0]
    raise UsageError(f'{display_path(uri)}: no such file; "crx show" prints what the index has')


def _launch(target: str) -> None:
    if click.launch(target):
        raise UsageError(f"{display_path(target)}: no program of this system opens it")


@click.command()
@click.argument("number", type=click.IntRange(min=1), default=1)
@click.option(
    "--original", is_flag=True, help="Open a text as the system opens it, too, not in the editor."
)
def command(*, number: int, original: bool) -> None:
    """Open passage NUMBER of the last search on a terminal, by default the first.

    A text opens at its line in the editor that VISUAL or EDITOR names, anything else, such as a
    PDF, as the system opens it. "crx show NUMBER" prints the document as it is indexed.
    """
    hit = find_hit(number)
    open_document(hit.uri, line=hit.line, original=original)
