"""The settings files: where they are, how they are read and changed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crx.config._folder_descriptions import FOLDERS, parse_descriptions
from crx.config._toml_table import MOST_BYTES, PROJECT_FILE, parse_toml
from crx.config.settings import Value, parse
from crx.errors import UsageError

# The table of a settings file that gives folders prompts of their own.
PROMPTS = "prompts"
_USUAL_MODE = 0o644


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file as it was read: its values by name, its bytes for a hash.

    `templates` are the prompts of `[prompts]`: files by folder, both absolute; `descriptions` are
    those of `[folders]`, None if they may not be used.
    """

    path: Path
    content: bytes
    values: Mapping[str, Value]
    templates: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] | None = None


def user_file(environ: Mapping[str, str]) -> Path:
    """Return the path of the user's settings file, which need not exist."""
    if "CRX_HOME" in environ:
        return Path(environ["CRX_HOME"]) / "config.toml"
    import platformdirs  # 10 ms that only this path pays

    return Path(platformdirs.user_config_dir("crx")) / "config.toml"


def installation_file() -> Path:
    """Return the path of the settings that came with this installation, such as a bundle's."""
    return Path(sys.prefix) / "share" / "crx" / "config.toml"


def project_file(folder: Path) -> Path | None:
    """Return the settings file of the project that a folder lies in, or None."""
    folder = folder.resolve()
    for each in (folder, *folder.parents):
        if (each / PROJECT_FILE).is_file():
            return each / PROJECT_FILE
    return None


def leads_out(path: Path, *, folder: Path) -> bool:
    """Return whether a path below a project's folder leads out of it, by way of a link."""
    return not path.resolve().is_relative_to(folder.resolve())


def require_inside(path: Path, *, folder: Path) -> Path:
    """Return a path below a project's folder; raise `UsageError` if a link leads out of it."""
    if leads_out(path, folder=folder):
        raise UsageError(
            f"{path}: a link that leads out of {folder}, which is not followed: it may have come "
            "with the folder; delete it, or name the file that you mean"
        )
    return path


def read_settings(path: Path) -> SettingsFile:
    """Read a settings file; raises `UsageError` if it is not TOML or holds a wrong setting."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise UsageError(f"{path}: more than a million bytes, and no settings file is so long")
        table = parse_toml(content)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as TOML: {error}") from None
    templates = _parse_templates(path, table.pop(PROMPTS, {}))
    descriptions = parse_descriptions(path, table.pop(FOLDERS, {}))
    values = {name: parse(name, value, origin=str(path)) for name, value in _flatten(table)}
    return SettingsFile(path, content, values, templates, descriptions)


def write_values(path: Path, changes: Mapping[str, Value | None]) -> None:
    """Set (or, with None, unset) values in a settings file; the rest of it stays as it is."""
    import tomlkit  # needed by this function alone

    path = path.resolve()
    text = ""
    if path.is_file():
        text = read_settings(path).content.decode("utf-8")
    document = tomlkit.parse(text)
    for name, value in changes.items():
        *tables, key = name.split(".")
        if tables:
            document.pop(name, None)  # a key in quotes, with its dots
        table = document
        for each in tables:
            if value is None:
                table = table.get(each, {})
            else:
                table = table.setdefault(each, tomlkit.table(is_super_table=each != tables[-1]))
        if value is None:
            table.pop(key, None)
        else:
            table[key] = parse(name, value, origin=str(path))
    replace_text(path, tomlkit.dumps(document))


def _flatten(table: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """Yield the values of a table and of those in it, `[rank.code] names` as `rank.code.names`."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{before}{key}.")
        else:
            yield before + key, value


def replace_text(path: Path, text: str) -> None:
    """Replace a file by a text, as `replace_bytes` does."""
    replace_bytes(path, text.encode("utf-8"))


def replace_bytes(path: Path, data: bytes) -> None:
    """Replace a file, which keeps its mode; what lies beside it, or a link leads to, stays."""
    import tempfile  # not imported for a search

    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if path.is_file():
            shutil.copymode(path, aside)
        else:
            os.chmod(aside, _USUAL_MODE)
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise


def write_private(path: Path, data: bytes) -> None:
    """Write a file for the user alone. Unlike a replaced file, it may be left half written."""
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with open(handle, "wb") as file:
        file.write(data)


def _parse_templates(path: Path, table: object) -> dict[str, str]:
    """Return the files of a table of prompts by folder; both are relative to the settings file."""
    if not isinstance(table, dict) or not all(isinstance(file, str) for file in table.values()):
        raise UsageError(f'{path}: [{PROMPTS}] wants lines like "docs/legal" = "legal.txt"')
    here = path.absolute().parent
    return {
        os.path.normpath(here / folder): os.path.normpath(here / file)
        for folder, file in table.items()
    }
