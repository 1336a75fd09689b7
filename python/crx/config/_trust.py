"""Trust in project files: which of them may choose models, URLs and prompts, and raise limits.

A `crx.toml` can come with a cloned repository, or lie in a folder above that others can write to.
Until the user has trusted it, only its harmless settings are in effect. Trust is given to a path
together with a content, as direnv does: a file that changes has to be trusted again. It is
recorded below the user's own settings, out of reach of the project.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from crx.config._folder_descriptions import FOLDERS, describe_outside
from crx.config.files import PROMPTS, SettingsFile, read_settings, user_file, write_values
from crx.config.settings import Value, is_harmless
from crx.errors import NoRoom

# The folder of trusted files' hashes, beside the user's settings file.
_TRUSTED = "trusted"


def untrusted_names(file: SettingsFile, *, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return what a project file may not set: names of settings and tables; none if trusted.

    The latter are `[prompts]`, and `[folders]` if it describes folders outside the file's own.
    """
    names = [name for name, value in file.values.items() if not is_harmless(name, value)]
    names += [f"[{PROMPTS}]"] * bool(file.templates)
    names += [f"[{FOLDERS}]"] * describe_outside(file.path, file.descriptions or {})
    return names if names and not _record(file, environ).is_file() else []


def without(file: SettingsFile, names: list[str]) -> SettingsFile:
    """Return the file without the settings of these names, as `untrusted_names` gives them."""
    values = {name: value for name, value in file.values.items() if name not in names}
    return replace(
        file,
        values=values,
        templates={} if f"[{PROMPTS}]" in names else file.templates,
        descriptions=None if f"[{FOLDERS}]" in names else file.descriptions,
    )


def write(
    path: Path,
    changes: Mapping[str, Value | None],
    *,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Set (or, with None, unset) values in a settings file; the rest of it stays as it is.

    The change is the user's own: a file that is new, or had nothing to be trusted with, or was
    trusted, is trusted afterwards.
    """
    trusted = not path.is_file() or not untrusted_names(read_settings(path), environ=environ)
    write_values(path, changes)
    if trusted and untrusted_names(read_settings(path), environ=environ):
        trust(path, environ=environ)


def trust(path: Path, *, environ: Mapping[str, str] = os.environ) -> SettingsFile:
    """Trust a settings file as it is now; return it as it was read."""
    file = read_settings(path.resolve())
    record = _record(file, environ)
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(f"{file.path}\n", encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise NoRoom(f"{record}: cannot be written: {reason}") from error
    return file


def revoke(path: Path, *, environ: Mapping[str, str] = os.environ) -> bool:
    """Trust a settings file no longer; return False if it was not trusted."""
    record = _record(read_settings(path.resolve()), environ)
    trusted = record.is_file()
    record.unlink(missing_ok=True)
    return trusted


def record_of(*parts: bytes, environ: Mapping[str, str]) -> Path:
    """Return the file whose existence means that something, which these parts name, is trusted."""
    import hashlib  # of use to projects with settings alone

    key = hashlib.blake2b(b"\0".join(parts), digest_size=32)
    return user_file(environ).parent / _TRUSTED / key.hexdigest()


def _record(file: SettingsFile, environ: Mapping[str, str]) -> Path:
    """Return the file whose existence means that this path with this content is trusted."""
    return record_of(os.fsencode(file.path.resolve()), file.content, environ=environ)
