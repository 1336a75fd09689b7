"""`crx trust`: let a project's settings file choose models, URLs and prompts."""

from __future__ import annotations

from pathlib import Path

import click

from crx.cli.output import display_path, print_line
from crx.config import PROJECT_FILE, SettingsFile, project_file, revoke, trust
from crx.errors import UsageError


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--revoke", "revoked", is_flag=True, help="Trust FILE no longer.")
def command(*, file: Path | None, revoked: bool) -> None:
    """Let the settings file FILE choose models, URLs and prompts.

    FILE is a crx.toml; the default is the nearest one, here or above. Until it is trusted, its
    settings that name a model, a URL or a prompt are ignored, since the file may have come with a
    folder that somebody else wrote; its other settings are in effect. Trust is given to the file
    as it is now: when it changes, it has to be given again.
    """
    path = file or project_file(Path.cwd())
    if path is None:
        raise UsageError(f"no {PROJECT_FILE} here or above; name the file to trust")
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    if revoked:
        was = "trusted no longer" if revoke(path) else "was not trusted"
        print_line(f"{display_path(path)}: {was}")
    else:
        _print(trust(path))


def _print(file: SettingsFile) -> None:
    """Print what a file sets now that it is trusted."""
    print_line(f"{display_path(file.path)}: trusted until it changes; it sets")
    for name, value in file.values.items():
        print_line(f"  {name} = {value}")
    for folder, template in file.templates.items():
        print_line(f"  prompt of {display_path(folder)} = {display_path(template)}")
