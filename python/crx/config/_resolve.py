"""The settings in effect: which value of which source wins.

A value is looked up in this order: argument, `CRX_*` variable, project file (`crx.toml` in the
current folder or above), user file (`config.toml` in the user's configuration folder), file of the
installation (`share/crx/config.toml`, which a bundle brings), default.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crx.config._folder_descriptions import FolderDescriptions
from crx.config._toml_table import PROJECT_FILE
from crx.config._trust import untrusted_names, without
from crx.config.files import (
    SettingsFile,
    installation_file,
    leads_out,
    project_file,
    read_settings,
    user_file,
)
from crx.config.settings import (
    ARGUMENT,
    ENVIRONMENT,
    Settings,
    Value,
    describe,
    make_settings,
    nearest,
    parse,
)

# Variables of the tests, which are none of crx.
_TESTS = "CRX_TEST_"


class ConfigWarning(UserWarning):
    """Something in the configuration is not in effect."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Settings, and for each name what its value comes from.

    `templates` are the prompts of `[prompts]`: files by folder, both absolute; `descriptions` those
    of `[folders]`.
    """

    settings: Settings
    origins: Mapping[str, str]
    templates: Mapping[str, str] = field(default_factory=dict)
    descriptions: FolderDescriptions = field(default_factory=FolderDescriptions)


def resolve(
    arguments: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Resolved:
    """Return the settings in effect in a folder; None among the arguments means not given.

    Issues a `ConfigWarning` for an unknown `CRX_*` variable and for settings of a project file that
    are ignored because the file is not trusted. Raises `UsageError` for a wrong value.
    """
    environ = os.environ if environ is None else environ
    ignored: list[str] = []
    values: dict[str, Value] = {}
    templates: dict[str, str] = {}
    descriptions: dict[str, str] = {}
    project = ""
    origins = dict.fromkeys((each.name for each in describe()), "default")
    for file in _files(environ, folder or Path.cwd(), ignored):
        templates |= file.templates
        descriptions |= file.descriptions or {}
        if file.path.name == PROJECT_FILE and file.descriptions is not None:
            project = str(file.path.absolute().parent)
        values |= file.values
        origins |= dict.fromkeys(file.values, str(file.path))
    for name, (variable, value) in _variables(environ, ignored).items():
        values[name] = parse(name, value, origin=variable)
        origins[name] = variable
    for name, given in (arguments or {}).items():
        if given is not None:
            values[name] = parse(name, given, origin=ARGUMENT)
            origins[name] = ARGUMENT
    for warning in ignored:
        warnings.warn(warning, ConfigWarning, stacklevel=2)
    folders = FolderDescriptions(descriptions, project)
    return Resolved(make_settings(values), origins, templates, folders)


def _files(environ: Mapping[str, str], folder: Path, ignored: list[str]) -> list[SettingsFile]:
    """Return the settings files that exist, the one that wins last; adds to the warnings."""
    own = (installation_file(), user_file(environ))
    files = [read_settings(each) for each in own if each.is_file()]
    path = project_file(folder)
    if path is not None and leads_out(path, folder=path.parent):
        ignored.append(
            f"{path}: ignored, because it is a link that leads out of its folder; "
            "put the file itself there"
        )
    elif path is not None:
        files.append(_trusted_part(read_settings(path), environ, ignored))
    return files


def _trusted_part(
    file: SettingsFile, environ: Mapping[str, str], ignored: list[str]
) -> SettingsFile:
    untrusted = untrusted_names(file, environ=environ)
    if untrusted:
        ignored.append(
            f"{file.path}: ignored {', '.join(untrusted)}, because the file is not trusted; read "
            f'it, then run "crx trust {file.path}"'
        )
    return without(file, untrusted)


def _variables(environ: Mapping[str, str], ignored: list[str]) -> dict[str, tuple[str, str]]:
    """Return the variables that set a setting, and their values, by its name; adds to the
    warnings.
    """
    settings = {f"CRX_{each.field.upper()}": each.name for each in describe()}
    others = {each.name for each in ENVIRONMENT}
    found: dict[str, tuple[str, str]] = {}
    for variable, value in environ.items():
        if variable in settings:
            found[settings[variable]] = variable, value
        elif _is_misspelt(variable, others):
            near = nearest(variable, [*settings, *others])
            hint = f"did you mean {near}?" if near else '"crx help environment" lists them'
            ignored.append(f"{variable}: no such variable, ignored; {hint}")
    return found


def _is_misspelt(variable: str, others: set[str]) -> bool:
    return (
        variable.startswith("CRX_") and variable not in others and not variable.startswith(_TESTS)
    )
