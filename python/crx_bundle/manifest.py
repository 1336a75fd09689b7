"""The manifest of a bundle: what the bundle contains, and which Python and machine it is for.

It is the file `bundle.json`. This module is also imported by the bundle's `install.py`, when
nothing is installed yet, so it imports the standard library and `crx.errors` alone.
"""

from __future__ import annotations

import json
import platform
import re
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from crx.errors import Damaged, Incompatible, UsageError
from crx_bundle.files import read_list

MANIFEST_FILE = "bundle.json"
WHEELS_FOLDER = "wheels"
MODELS_FOLDER = "models"
INDEX_FOLDER = "index"
REQUIREMENTS_FILE = "requirements.txt"

FORMAT = 1

# Names that lead to no other folder, and that no terminal takes for an instruction.
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}(@int8)?")
_TEXT = re.compile(r"[ -~]{0,200}")
_PYTHON = re.compile(r"[a-z]+ \d+\.\d+t?")

_GLIBC_TAG = re.compile(r"manylinux_(\d+)_(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The content of a bundle.

    `python` and `machine` are those that the wheels are for, as `current_python` and
    `current_machine` return them; `glibc` is the oldest GNU C library that they run with, "" if
    they need none. `installed_bytes` is the disk space that an installation takes, `embedder` the
    model that embeds there by default, "" if the bundle has none.
    """

    format: int
    crx: str
    created: str
    python: str
    machine: str
    glibc: str
    extras: tuple[str, ...]
    models: tuple[str, ...]
    index: bool
    installed_bytes: int
    embedder: str = ""

    @property
    def version(self) -> str:
        """The version of Python, such as "3.12"."""
        return self.python.split()[-1].rstrip("t")


def read_manifest(bundle: Path) -> Manifest:
    """Return the manifest of a bundle.

    Raises `UsageError` if the folder is not a bundle, `Damaged` if its manifest cannot be read, and
    `Incompatible` if a newer version of crx has made it.
    """
    path = bundle / MANIFEST_FILE
    try:
        found = json.loads(read_list(path))
        if found["format"] > FORMAT:
            raise Incompatible(f"{bundle}: made by crx {found['crx']}; install that version of crx")
        given = {"embedder": "", **found}
        values = {field.name: given[field.name] for field in fields(Manifest)}
        _require_types(values)
        values |= {name: tuple(values[name]) for name in ("extras", "models")}
        return Manifest(**values)
    except (FileNotFoundError, NotADirectoryError):
        fact = (
            f"not a bundle, it contains no {MANIFEST_FILE}" if bundle.exists() else "no such folder"
        )
        raise UsageError(f'{bundle}: {fact}; "crx bundle create FOLDER" makes a bundle') from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise Damaged(f"{path}: cannot be read ({error}); copy the bundle again") from error


def _require_types(values: Mapping[str, object]) -> None:
    """Raise `ValueError` for the first field that is not as `write_manifest` writes it."""
    for name, value in values.items():
        if name in ("extras", "models"):
            is_valid = isinstance(value, list) and all(map(_is_name, value))
        elif name in ("format", "installed_bytes"):
            is_valid = type(value) is int and value >= 0
        elif name == "embedder":
            is_valid = not value or _is_name(value)
        elif name == "index":
            is_valid = isinstance(value, bool)
        else:
            pattern = _PYTHON if name == "python" else _TEXT
            is_valid = isinstance(value, str) and pattern.fullmatch(value) is not None
        if not is_valid:
            raise ValueError(f"{name} is {str(value)[:40]!r}")


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def write_manifest(bundle: Path, manifest: Manifest) -> None:
    """Write the manifest into a bundle."""
    text = json.dumps(asdict(manifest), indent=2, sort_keys=True)
    (bundle / MANIFEST_FILE).write_text(text + "\n", encoding="utf-8", newline="\n")


def require_compatible(bundle: Path, manifest: Manifest) -> None:
    """Raise `Incompatible` if this Python or machine is not the one that a bundle is for."""
    made_for = (manifest.python, manifest.machine)
    here = (current_python(), current_machine())
    if here != made_for:
        raise Incompatible(
            f"{bundle}: made for {' on '.join(made_for)}, and this is {' on '.join(here)}; "
            f"run its install.py with {made_for[0]} on {made_for[1]}, or create a bundle for this "
            "one on a machine with a network"
        )
    library, version = platform.libc_ver()
    if manifest.glibc and (library != "glibc" or _numbers(version) < _numbers(manifest.glibc)):
        found = f"{library} {version}" if library else "another C library"
        raise Incompatible(
            f"{bundle}: needs glibc {manifest.glibc} or newer, and this machine has {found}; "
            "create the bundle on an older system of the same kind"
        )


def current_python() -> str:
    """Return the kind of this Python that wheels depend on, such as "cpython 3.12"."""
    threads = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    return f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}{threads}"


def current_machine() -> str:
    """Return the operating system and the processor, such as "linux x86_64"."""
    return f"{sys.platform} {platform.machine()}"


def oldest_glibc(wheels: Iterable[str]) -> str:
    """Return the oldest GNU C library that wheels of these file names run with, "" if any does.

    A wheel with several tags runs with the oldest of them. `manylinux2014` and older tags are left
    out: no Python that crx runs on is found with an older library.
    """
    needed = [min(found) for name in wheels if (found := _glibc_tags(name))]
    return ".".join(map(str, max(needed))) if needed else ""


def _glibc_tags(wheel: str) -> list[tuple[int, ...]]:
    return [(int(major), int(minor)) for major, minor in _GLIBC_TAG.findall(wheel)]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
