"""`crx show`: print a document, its chunks and their contexts, or draw a page of it."""

from __future__ import annotations

import difflib
import re
from contextlib import closing
from pathlib import Path

import click

from crx import _native
from crx._cli.last_search import find_hit
from crx._cli.options import existing_index, index_option, json_option
from crx._cli.output import bold, dim, display_path, print_json, print_line, print_text
from crx._cli.passages import GENERATED_CONTEXT
from crx._cli.value_completion import complete_file
from crx._index.page_picture import draw_document_page, find_on_page
from crx._index.reader import open_reader
from crx.config import replace_bytes
from crx.errors import NoRoom, UsageError
from crx.ingest._worker.page_renderer import PageRenderer
from crx.ingest.page_values import PagePicture
from crx.ingest.paths import candidate_uris, describe_os_error

_HIT = re.compile(r"[1-9][0-9]?", re.ASCII)
# Documents that an error names.
_NAMED = 5


@click.command()
@click.argument("uri", shell_complete=complete_file)
@index_option
@click.option("--chunks", is_flag=True, help="Print the document chunk by chunk.")
@click.option(
    "--contexts", is_flag=True, help="Print it chunk by chunk, with outline and context of each."
)
@click.option(
    "--page",
    metavar="LABEL",
    help="Draw the page of a PDF that has this label, as search prints it, as PNG.",
)
@click.option("--mark", metavar="TEXT", help="With --page: mark the lines of this text.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --page: file of the picture; default: NAME-page-LABEL.png in this folder.",
)
@click.option("--open", "opens", is_flag=True, help="With --page: open the picture.")
@json_option
def command(
    *,
    uri: str,
    folder: str | None,
    chunks: bool,
    contexts: bool,
    page: str | None,
    mark: str | None,
    output: Path | None,
    opens: bool,
    as_json: bool,
) -> None:
    """Print the stored text of the document URI: a path, path#id, or the end of a path.

    A number below 100 is that of a passage of the last search on a terminal.
    """
    if page is None and (mark is not None or output is not None or opens):
        raise UsageError("--mark, --output and --open are of use only with --page LABEL")
    index_path: str | Path
    if folder is None and _HIT.fullmatch(uri):
        index_path, uri, *_ = find_hit(int(uri))
    else:
        index_path = existing_index(folder)
    with open_reader(index_path) as index:
        store = index.store
        row = _find_document(store, uri)
        if page is not None:
            file = output or _default_file(row.uri, page)
            _write(file, _draw(store, row, page, mark or "").png, replaces=output is None)
            print_line(str(file))
            if opens:
                click.launch(str(file))
            return
        rows = store.chunks(store.chunk_keys(row.doc))
        if as_json:
            names = ("ordinal", "start", "end", "text", "outline", "context", "outcome")
            parts = [{name: getattr(each, name) for name in names} for each in rows]
            print_json({"uri": row.uri, "title": row.title, "lang": row.lang, "chunks": parts})
        elif chunks or contexts:
            for each in rows:
                print_line(bold(f"[{each.ordinal}] {each.start}..{each.end}"))
                if contexts:
                    for label, value in (
                        ("outline", each.outline),
                        (GENERATED_CONTEXT, each.context),
                        ("outcome", each.outcome),
                    ):
                        if value:
                            print_line(dim(f"{label}: {' '.join(value.split())}"))
                print_text(each.text)
        else:
            print_text(store.text(row.doc))


def _find_document(store: _native.Store, name: str) -> _native.DocumentRow:
    """Return the document of a URI or a path, or the only one that ends with this path.

    Raises `UsageError` if there is none, or several.
    """
    exact = (store.document(each) for each in candidate_uris(name))
    if row := next(filter(None, exact), None):
        return row
    documents = store.documents()
    ending = [each for each in documents if each.uri.endswith(f"/{name}")]
    if len(ending) == 1:
        return ending[0]
    if ending:
        paths = ", ".join(display_path(each.uri) for each in ending[:_NAMED])
        more = f" and {len(ending) - _NAMED} more" if len(ending) > _NAMED else ""
        raise UsageError(
            f"{name}: {len(ending)} documents end so: {paths}{more}; give a longer path"
        )
    names = {each.uri.rpartition("/")[2]: each.uri for each in documents}
    near = difflib.get_close_matches(name.rpartition("/")[2], names, n=1, cutoff=0.75)
    hint = f"did you mean {display_path(names[near[0]])}?" if near else ""
    raise UsageError(
        f"{name}: not in the index; " + (hint or '"crx status --documents" lists what is')
    )


def _draw(store: _native.Store, row: _native.DocumentRow, page: str, mark: str) -> PagePicture:
    """Draw a page, with the lines of a text marked that it has."""
    span = find_on_page(store, row, page, mark) if mark else None
    if mark and span is None:
        raise UsageError(f"{mark[:100]}: not on page {page}")
    with closing(PageRenderer()) as renderer:
        return draw_document_page(store, row, renderer, page=page, span=span)


def _default_file(uri: str, page: str) -> Path:
    """Return the file of a picture in this folder; raise `UsageError` if a link has its name."""
    label = re.sub(r"[^\w.-]+", "_", page)
    file = Path(f"{Path(uri).stem}-page-{label}.png")
    if file.is_symlink():
        raise UsageError(
            f"{file}: a link, which is not followed: it may have come with the folder; delete it, "
            "or name a file with --output"
        )
    return file


def _write(file: Path, data: bytes, *, replaces: bool) -> None:
    """Write a file; if it replaces another, without following a link that was put there."""
    try:
        if replaces:
            replace_bytes(file, data)
        else:
            file.write_bytes(data)
    except OSError as error:
        raise NoRoom(f"{file}: cannot be written: {describe_os_error(error)}") from error
