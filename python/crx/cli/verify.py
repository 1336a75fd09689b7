"""`crx verify`: check every row, and mend what can be mended."""

from __future__ import annotations

import click

from crx import index as handle
from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import say, say_json
from crx.errors import Damaged


@click.command()
@index_option
@json_option
def command(*, folder: str | None, as_json: bool) -> int:
    """Check every row against its hash, and rebuild derived files that do not match theirs."""
    with handle.open(existing_index(folder), create=False) as index:
        faults = index.verify()
        notes = index.status().notes if not faults else ()
    if as_json:
        say_json({"faults": faults, "notes": notes})
    else:
        for fault in faults:
            say(fault)
        say(f"{len(faults)} faults" if faults else "every row matches its hash")
    return Damaged.exit_code if faults else 0
