"""`crx open`: open a passage of the last search."""

from __future__ import annotations

import click

from crx.cli.last_search import find_hit
from crx.cli.opener import open_document


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
