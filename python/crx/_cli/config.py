"""`crx config` and `crx trust`: the settings, and which file of a project may choose models."""

from __future__ import annotations

import os
from pathlib import Path

import click

from crx._cli.options import json_option
from crx._cli.output import display_path, print_json, print_line, print_note, print_text
from crx._cli.tables import fit_table
from crx._cli.value_completion import complete_setting
from crx._index import handle
from crx.config import (
    FIXED,
    PROJECT_FILE,
    SettingsFile,
    allow,
    describe,
    forbid,
    project_file,
    read_settings,
    require_inside,
    resolve,
    revoke,
    trust,
    user_file,
    write,
)
from crx.errors import UsageError
from crx.plugins import is_engine_address

# Characters of a value that the table of settings shows; a longer one follows the table.
_LONGEST_VALUE = 60


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Print every setting, its value, where the value comes from, and what it is for."""
    if ctx.invoked_subcommand is not None:
        return
    resolved = resolve()
    rows = [
        (each, getattr(resolved.settings, each.field), resolved.origins[each.name])
        for each in describe()
    ]
    if as_json:
        listed = {d.name: {"value": v, "origin": o, "help": d.help} for d, v, o in rows}
        print_json(
            {
                **listed,
                "prompts": dict(resolved.templates),
                "folders": dict(resolved.descriptions.by_folder),
            }
        )
        return
    print_text(fit_table([[d.name, _shorten(v), o, d.help] for d, v, o in rows]))
    for description, value, _ in rows:
        if _shorten(value) != str(value):
            print_line(f"{description.name}: {value}")
    for folder, template in resolved.templates.items():
        print_line(f"prompt of {display_path(folder)}: {display_path(template)}")
    for folder, text in resolved.descriptions.by_folder.items():
        print_line(f"description of {display_path(folder)}: {text}")


def _shorten(value: object) -> str:
    """Return a value as a table has room for it."""
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else "(see below)"


_project = click.option(
    "--project", is_flag=True, help=f"Change ./{PROJECT_FILE}.  [default: the user's file]"
)


@command.command("set", short_help="Set a setting.")
@click.argument("name", shell_complete=complete_setting)
@click.argument("value")
@_project
def _set_value(*, name: str, value: str, project: bool) -> None:
    """Set NAME to VALUE in the user's file; its comments stay."""
    path = _file(project=project)
    write(path, {name: value})
    print_line(f"{display_path(path)}: {name} = {value}")
    if name in FIXED:
        print_note("for new indexes; one that exists keeps what it was made with")


@command.command("unset", short_help="Remove a setting from a file.")
@click.argument("name", shell_complete=complete_setting)
@_project
def _unset_value(*, name: str, project: bool) -> None:
    """Remove NAME from the user's file."""
    path = _file(project=project)
    file = read_settings(path) if path.is_file() else SettingsFile(path, b"", {})
    was_set = name in file.values
    if was_set:
        write(path, {name: None})
    print_line(f"{display_path(path)}: {name} {'is no longer' if was_set else 'was not'} set here")


def _file(*, project: bool) -> Path:
    if project:
        return require_inside(Path.cwd() / PROJECT_FILE, folder=Path.cwd())
    return user_file(os.environ)


@click.command()
@click.argument("file", metavar="[FILE|INDEX]", required=False)
@click.option("--revoke", "revoked", is_flag=True, help="Trust it no longer.")
def trust_file(*, file: str | None, revoked: bool) -> None:
    """Let the settings file FILE choose models, URLs, prompts and limits, or let INDEX use them.

    FILE is a crx.toml; the default is the nearest one, here or above. Until it is trusted, its
    settings that name a model, a URL or a prompt, or raise a limit, are ignored, since the file may
    have come with a folder that somebody else wrote; its other settings are in effect. Trust is
    given to the file as it is now: when it changes, it has to be given again.

    INDEX is an index folder, or the URL of a database. What you name yourself while you make or
    refresh an index is allowed to it: an embedder that is no model of this machine, a file of
    contexts, folders besides the one that holds it. An index from elsewhere, or one that was
    moved, has to be trusted once; then it may do what it asks for now, at this path.
    """
    if file is not None and (is_engine_address(file) or Path(file).is_dir()):
        _trust_index(file, revoked=revoked)
        return
    path = Path(file) if file else _own_project_file()
    if path is None:
        raise UsageError(f"no {PROJECT_FILE} here or above; name the file or the index to trust")
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    if revoked:
        was = "trusted no longer" if revoke(path) else "was not trusted"
        print_line(f"{display_path(path)}: {was}")
    else:
        _print_trusted(trust(path))


def _own_project_file() -> Path | None:
    """Return the nearest project file; raise `UsageError` if it is a link out of its folder."""
    path = project_file(Path.cwd())
    return path and require_inside(path, folder=path.parent)


def _trust_index(path: str, *, revoked: bool) -> None:
    """Allow an index all that it asks for, or nothing any more; print what that is."""
    with handle.open(path, create=False) as index:
        name, acts = index.name, index.acts()
    if revoked:
        was = "trusted no longer" if forbid(name, acts) else "was not trusted"
        print_line(f"{display_path(name)}: {was}")
    elif acts:
        allow(name, acts)
        print_line(f"{display_path(name)}: trusted at this path; it may")
        for act in acts:
            print_line(f"  {act}")
    else:
        print_line(f"{display_path(name)}: asks for nothing outside its folder")


def _print_trusted(file: SettingsFile) -> None:
    """Print what a file sets now that it is trusted."""
    print_line(f"{display_path(file.path)}: trusted until it changes; it sets")
    for name, value in file.values.items():
        print_line(f"  {name} = {value}")
    for folder, template in file.templates.items():
        print_line(f"  prompt of {display_path(folder)} = {display_path(template)}")
    for folder, description in (file.descriptions or {}).items():
        print_line(f"  description of {display_path(folder)} = {description}")
