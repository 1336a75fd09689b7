"""`crx agents`: gives the agents of this machine what they search with, and takes it back."""

from __future__ import annotations

import os
from pathlib import Path

import click

from crx._cli.options import existing_index
from crx._cli.output import display_path, print_line, print_note
from crx.config.files import user_file
from crx.errors import UsageError
from crx_serve.agent_clients import (
    AGENTS,
    Change,
    apply_changes,
    found_agents,
    hook_command,
    plan_install,
    plan_uninstall,
)
from crx_serve.mcp.clients import installed_program, server_command

_WORDS = {"write": "written", "restore": "as before", "remove": "removed", "edit": "crx taken out"}
_names = click.argument("agents", type=click.Choice(list(AGENTS)), nargs=-1)
_dry_run = click.option(
    "--dry-run", is_flag=True, help="Print what would change, and change nothing."
)


@click.group()
def command() -> None:
    """Set up the agents of this machine to search with crx.

    An agent gets the entry of the MCP server, a short instruction and, in Claude Code, a hook that
    refreshes the index after an edit. "crx mcp install" prints the entry for a project alone.
    """


@command.command("install", short_help="Give agents the server, an instruction and hooks.")
@_names
@click.option("--index", "folder", metavar="DIR", help="Index that they search.")
@_dry_run
def install(*, agents: tuple[str, ...], folder: str | None, dry_run: bool) -> None:
    """Give AGENTS, by default those that are found in the user's folder, what they search with."""
    index = str(existing_index(folder).resolve())
    home = Path.home()
    program = installed_program()
    server = server_command(program, ["--index", index], environ=os.environ)
    hook = hook_command(program, index=index, environment=server.environment)
    changes, refused = plan_install(home, agents or _found(home), server, hook=hook)
    _make(changes, dry_run=dry_run, home=home)
    for reason in refused:
        print_note(reason)
    if not changes and not refused:
        print_line("all agents have it already")


@command.command("uninstall", short_help="Take back what was installed.")
@_names
@_dry_run
def uninstall(*, agents: tuple[str, ...], dry_run: bool) -> None:
    """Take back what AGENTS, by default all, were given; files nobody changed are as before."""
    home = Path.home()
    changes = plan_uninstall(home, agents or tuple(AGENTS), _record())
    _make(changes, dry_run=dry_run, home=home)
    if not changes:
        print_line("no agent has anything of crx")


def _found(home: Path) -> list[str]:
    found = found_agents(home)
    if not found:
        raise UsageError(f"no agent found; name one of {', '.join(AGENTS)}")
    return found


def _make(changes: list[Change], *, dry_run: bool, home: Path) -> None:
    if not dry_run and changes:
        apply_changes(changes, _record(), home=home)
    for change in changes:
        done = f"would be {_WORDS[change.action]}" if dry_run else _WORDS[change.action]
        print_line(f"{AGENTS[change.agent].client.title}: {display_path(change.path)}: {done}")


def _record() -> Path:
    """Return the file that keeps what the agents' files held before."""
    return user_file(os.environ).with_name("agents.json")
