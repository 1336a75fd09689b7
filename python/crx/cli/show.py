"""`crx show`: print a document, its chunks and their contexts."""

from __future__ import annotations

import click

from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import bold, dim, print_json, print_line, print_text
from crx.cli.passages import GENERATED_CONTEXT
from crx.cli.value_completion import complete_file
from crx.errors import UsageError
from crx.index.reader import open_reader
from crx.ingest.paths import candidate_uris


@click.command()
@click.argument("uri", shell_complete=complete_file)
@index_option
@click.option("--chunks", is_flag=True, help="Print the document chunk by chunk.")
@click.option(
    "--contexts", is_flag=True, help="Print it chunk by chunk, with outline and context of each."
)
@json_option
def command(*, uri: str, folder: str | None, chunks: bool, contexts: bool, as_json: bool) -> None:
    """Print the stored text of the document URI: a path, or path#id."""
    with open_reader(existing_index(folder)) as index:
        store = index.store
        found = (store.document(each) for each in candidate_uris(uri))
        row = next((row for row in found if row is not None), None)
        if row is None:
            raise UsageError(f'{uri}: not in the index; "crx status --documents" lists what is')
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
