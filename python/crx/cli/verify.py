"""`crx verify`: check every row, and mend what can be mended."""

from __future__ import annotations

from dataclasses import asdict

import click

from crx import index as handle
from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import near, note, say, say_json
from crx.errors import Damaged


@click.command()
@index_option
@json_option
def command(*, folder: str | None, as_json: bool) -> int:
    """Check every row against its hash, and mend derived files.

    Derived files that do not match their hashes are made anew, without running a model.
    """
    place = existing_index(folder)
    with handle.open(place, create=False) as index:
        found = index.verify()
    if as_json:
        say_json(asdict(found))
    else:
        for line in (*found.faults, *found.mended):
            say(line)
        if not found.faults:
            say(f"{near(place)}: every row matches its hash")
    if found.faults:
        note(f'{near(place)}: damaged; "crx index PATH --rehash" writes anew what came from files;')
        note("where that fails, bring back a copy of crx.db, or index into a new folder")
    return Damaged.exit_code if found.faults else 0
