"""`crx remove`: remove documents from an index."""

from __future__ import annotations

import shlex

import click

from crx._cli.options import existing_index, index_option, json_option
from crx._cli.output import display_path, print_json, print_line, print_note
from crx._index import handle
from crx.ingest.discover import Root
from crx.ingest.paths import path_of
from crx.ingest.remove import find_left_out
from crx.labels import count_label


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="URI|FOLDER|GLOB...")
@index_option
@json_option
def command(*, names: tuple[str, ...], folder: str | None, as_json: bool) -> int:
    """Remove documents by URI, file, folder or glob.

    Files on the disk are not changed, and the next "crx index" leaves them out. A folder that was
    indexed is not refreshed any more. Quote a glob: * stays within a folder, ** crosses folders.
    """
    index_path = existing_index(folder)
    with handle.open(index_path, create=False) as index:
        removed = index.remove_matching(*names)
        left_out = find_left_out(index.store, names)
    total = sum(removed.values())
    if as_json:
        print_json(
            {"index": str(index_path), "removed": total, "names": removed, "left_out": [*left_out]}
        )
    else:
        print_line(f"{display_path(index_path)}: {count_label(total, 'document')} removed")
    for name, count in removed.items():
        if not count:
            print_note(f'{name}: nothing in the index; "crx status --documents" lists what is')
    take_back = ["crx", "index", *(["--index", folder] if folder else [])]
    for name, roots in left_out.items():
        taking_back = " && ".join(
            shlex.join([*take_back, *arguments])
            for arguments in (list(map(_root_arguments, roots)) or [[_as_path(name)]])
        )
        print_note(f'{name}: left out from now on; "{taking_back}" takes it back')
    return 0 if total else 1


def _root_arguments(root: Root) -> list[str]:
    """Return the arguments that have a root with its excludes read again."""
    excludes = [word for each in root.exclude or ("",) for word in ("--exclude", each)]
    return [_as_path(display_path(path_of(root.uri))), *excludes]


def _as_path(name: str) -> str:
    """Return a name as an argument that is no option."""
    return f"./{name}" if name.startswith("-") else name
