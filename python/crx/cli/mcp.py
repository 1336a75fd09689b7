"""`crx mcp`: a server of the Model Context Protocol, and its entry in a client's settings."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from crx.cli.options import existing_index
from crx.cli.output import display_path, print_line, print_note, print_text
from crx.mcp.clients import (
    CLIENTS,
    installed_program,
    merge_settings,
    server_command,
    settings_json,
    uvx_program,
)

_DONE = {"added": "crx added", "replaced": "the entry of crx replaced", "unchanged": "has it"}

_index = click.option(
    "--index",
    "folders",
    metavar="DIR",
    multiple=True,
    help="Index folder; repeatable.  [default: CRX_INDEX, else the nearest .crx here or above]",
)
_allow_write = click.option(
    "--allow-write",
    is_flag=True,
    help="Offer the tool refresh, which reads what has changed below the paths that were indexed.",
)


@click.group()
def command() -> None:
    """Let a language model search the index, by the Model Context Protocol."""


@command.command("install", short_help="Add the server to a client's settings.")
@click.argument("client", type=click.Choice(list(CLIENTS)))
@_index
@_allow_write
@click.option(
    "--uvx",
    is_flag=True,
    help="Start the server by uvx, from the package index.  [default: this installation]",
)
@click.option(
    "--merge",
    is_flag=True,
    help="Write the entry into the client's file in the current folder.  [default: print it]",
)
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write the entry into, in place of the one in the current folder.",
)
def install(
    *,
    client: str,
    folders: tuple[str, ...],
    allow_write: bool,
    uvx: bool,
    merge: bool,
    file: Path | None,
) -> None:
    """Print what CLIENT needs to start the server, or write it with --merge.

    CLIENT is claude (Claude Code), cursor, vscode or zed. The entry names the index by its absolute
    path, because a client starts its servers in a folder of its own.
    """
    chosen = CLIENTS[client]
    places = [existing_index(folder) for folder in folders] or [existing_index(None)]
    arguments = [word for place in places for word in ("--index", os.path.abspath(place))]
    arguments += ["--allow-write"] * allow_write
    program = uvx_program() if uvx else installed_program()
    server = server_command(program, arguments, environ=os.environ)
    if merge or file:
        path = file or Path(chosen.file)
        done = merge_settings(path, chosen, server.entry(chosen))
        print_line(f"{display_path(path)}: {_DONE[done]}; restart {chosen.title}")
    elif client == "claude":
        print_line(shlex.join(server.claude_arguments()))
    else:
        print_text(settings_json(chosen, server.entry(chosen)).rstrip())
        print_note(f"{chosen.title} reads this from {chosen.file}; --merge writes it there")
