"""`crx config`: the settings, and which one won."""

from __future__ import annotations

import os
from pathlib import Path

import click

from crx.cli.options import json_option
from crx.cli.output import near, say, say_json, table
from crx.config import PROJECT_FILE, describe, resolve, user_file, write


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Print every setting, its value and where the value comes from."""
    if ctx.invoked_subcommand is not None:
        return
    resolved = resolve()
    rows = [
        (each, getattr(resolved.settings, each.name), resolved.origins[each.name])
        for each in describe()
    ]
    if as_json:
        listed = {d.name: {"value": v, "origin": o, "help": d.help} for d, v, o in rows}
        say_json({**listed, "prompts": dict(resolved.templates)})
        return
    say(table([[d.name, str(v), o, d.help] for d, v, o in rows]))
    for folder, template in resolved.templates.items():
        say(f"prompt of {near(folder)}: {near(template)}")


_project = click.option("--project", is_flag=True, help=f"In ./{PROJECT_FILE}, not the user file.")


@command.command("set")
@click.argument("name")
@click.argument("value")
@_project
def set_value(*, name: str, value: str, project: bool) -> None:
    """Set NAME to VALUE in the user's file."""
    path = _file(project=project)
    write(path, {name: value})
    say(f"{path}: {name} = {value}")


@command.command("unset")
@click.argument("name")
@_project
def unset_value(*, name: str, project: bool) -> None:
    """Take NAME out of the user's file."""
    path = _file(project=project)
    write(path, {name: None})
    say(f"{path}: {name} is no longer set here")


def _file(*, project: bool) -> Path:
    return Path.cwd() / PROJECT_FILE if project else user_file(os.environ)
