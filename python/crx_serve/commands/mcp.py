"""`crx mcp`: a server of the Model Context Protocol, and its entry in a client's settings."""

from __future__ import annotations

import importlib.util
import os
import shlex
import signal
from pathlib import Path
from types import FrameType

import click

from crx._cli import INTERRUPTED
from crx._cli.options import existing_index, parse_settings, set_option
from crx._cli.output import display_path, print_line, print_note, print_text
from crx.config import require_inside
from crx.errors import UsageError
from crx_serve.mcp.clients import (
    CLIENTS,
    McpClient,
    installed_program,
    merge_settings,
    server_command,
    settings_text,
    uvx_program,
)
from crx_serve.process_memory import limit_heaps
from crx_serve.served_index import open_indexes
from crx_serve.service import SearchService

_DONE = {"added": "crx added", "replaced": "the entry of crx replaced", "unchanged": "has it"}

_index = click.option(
    "--index",
    "folders",
    metavar="DIR",
    multiple=True,
    help="Index folder, or NAME=FOLDER; repeatable.  [default: CRX_INDEX, else the nearest .crx "
    "here or above]",
)
_allow_write = click.option(
    "--allow-write",
    is_flag=True,
    help="Offer the tool refresh, which reads what has changed below the paths that were indexed.",
)


@click.group(invoke_without_command=True)
@_index
@_allow_write
@click.option(
    "--no-refresh",
    is_flag=True,
    help="Do not read what has changed in the indexed folders before each search.",
)
@set_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    folders: tuple[str, ...],
    allow_write: bool,
    no_refresh: bool,
    assignments: tuple[str, ...],
) -> None:
    """Let a language model search the index, by the Model Context Protocol.

    A client starts this command and speaks with it through standard input and output, until it
    closes them. "crx mcp install CLIENT" prints the entry that the client needs.
    """
    if ctx.invoked_subcommand is not None:
        return
    if importlib.util.find_spec("mcp") is None:
        raise UsageError('mcp: the SDK is not installed; pip install "crx[mcp]"')
    # Imported here: the SDK is an extra, which installing its entry does not need.
    from crx_serve.mcp.stdio import run_stdio

    specs = folders or (str(existing_index(None)),)
    limit_heaps()
    service = SearchService(open_indexes(specs, settings=parse_settings(assignments)))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _exit_at_once)
    try:
        run_stdio(service, allow_write=allow_write, refresh=not no_refresh)
    finally:
        service.close()


def _exit_at_once(number: int, frame: FrameType | None) -> None:
    """End the process: a thread that waits for standard input cannot be ended otherwise."""
    print_note("interrupted")
    os._exit(INTERRUPTED)


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
    help="Write the entry into the client's file in the current folder, for Windsurf in the user's "
    "folder.  [default: print it]",
)
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write the entry into, instead of that one.",
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

    CLIENT is claude (Claude Code), codex, cursor, gemini (Gemini CLI), opencode, vscode, windsurf
    or zed. The entry names the index by its absolute path, because a client starts its servers in a
    folder of its own.
    """
    chosen = CLIENTS[client]
    specs = [_absolute(each) for each in folders or (str(existing_index(None)),)]
    arguments = [word for spec in specs for word in ("--index", spec)]
    arguments += ["--allow-write"] * allow_write
    program = uvx_program() if uvx else installed_program()
    server = server_command(program, arguments, environ=os.environ)
    if merge or file:
        path = file or _own_file(chosen)
        done = merge_settings(path, chosen, server.entry(chosen))
        print_line(f"{display_path(path)}: {_DONE[done]}; restart {chosen.title}")
    elif client == "claude":
        print_line(shlex.join(server.claude_arguments()))
    else:
        print_text(settings_text(chosen, server.entry(chosen)).rstrip())
        print_note(f"{chosen.title} reads this from {chosen.file}; --merge writes it there")


def _own_file(client: McpClient) -> Path:
    """Return the settings file of a client, in the current folder or in that of the user."""
    if client.is_of_user:
        return Path(client.file).expanduser()
    return require_inside(Path(client.file), folder=Path.cwd())


def _absolute(spec: str) -> str:
    """Return a folder, or a name and a folder, with the folder's absolute path."""
    name, equals, folder = spec.partition("=")
    if equals and not os.path.exists(spec):
        return f"{name}={os.path.abspath(folder)}"
    return os.path.abspath(spec)
