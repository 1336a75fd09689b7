"""Installation of a bundle: a virtual environment with crx, its models and its index.

Nothing is downloaded. This module imports the standard library and `crx.errors` alone; see
`crx_bundle.manifest`.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import venv
from dataclasses import dataclass
from pathlib import Path

from crx.errors import Damaged, NoRoom, SystemFailure, UsageError
from crx_bundle.files import copy_regular
from crx_bundle.manifest import (
    INDEX_FOLDER,
    MODELS_FOLDER,
    REQUIREMENTS_FILE,
    WHEELS_FOLDER,
    read_manifest,
    require_compatible,
)
from crx_bundle.verify import CheckedBundle, check_bundle

# Where crx looks for models and for settings below the running Python.
_MODELS = Path("share") / "crx" / "models"
_SETTINGS = Path("share") / "crx" / "config.toml"
_PROGRAMS = "Scripts" if os.name == "nt" else "bin"
_SUFFIX = ".exe" if os.name == "nt" else ""
_FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@dataclass(frozen=True, slots=True)
class InstalledBundle:
    """An installation: the folder, the `crx` program in it, the index if the bundle has one."""

    folder: Path
    program: Path
    index: Path | None
    bundle: CheckedBundle


def install_bundle(bundle: Path, folder: Path, *, key: Path | None = None) -> InstalledBundle:
    """Check a bundle and install it into a new folder; after an error, nothing is left behind.

    `key` is a file of public keys, one of which must have signed the bundle. Raises `UsageError` if
    the folder is not empty, `Incompatible` if the bundle is for another Python or machine,
    `Damaged` if a file of the bundle is not as it was made, `NoRoom`, and `SystemFailure` if pip
    fails.
    """
    manifest = read_manifest(bundle)
    require_compatible(bundle, manifest)
    require_new(folder)
    _require_room(folder, manifest.installed_bytes)
    checked = check_bundle(bundle, key=key)
    if checked.faults:
        first = checked.faults[0]
        raise Damaged(
            f"{bundle}: {len(checked.faults)} damaged, first {first.path} ({first.fault}); "
            "copy the bundle again"
        )
    existed = folder.exists()
    try:
        return _install(bundle, folder, checked)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if existed:
            folder.mkdir(exist_ok=True)
        if isinstance(error, OSError):
            raise system_error(error, folder) from error
        raise


def system_error(error: OSError, folder: Path) -> NoRoom | SystemFailure:
    """Return the error of crx for one of the operating system while a folder was written."""
    if error.errno in _FULL_DISK:
        return NoRoom(f"{folder}: no space left; free some or name another folder")
    reason = (error.strerror or str(error)).lower()
    return SystemFailure(f"{error.filename or folder}: {reason}; name another folder, or mend it")


def require_new(folder: Path) -> None:
    """Raise `UsageError` if a folder exists and is not empty, or is not a folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: exists already; name a folder that does not, or delete it")


def _install(bundle: Path, folder: Path, checked: CheckedBundle) -> InstalledBundle:
    # pip runs from its wheel: some systems have no ensurepip.
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    programs = folder.absolute() / _PROGRAMS
    _install_wheels(bundle.absolute(), programs / f"python{_SUFFIX}", folder)
    for name in checked.manifest.models:
        _copy_folder(bundle / MODELS_FOLDER / name, folder / _MODELS / name)
    if checked.manifest.embedder:
        (folder / _SETTINGS).write_text(f'embedder = "{checked.manifest.embedder}"\n')
    index = None
    if checked.manifest.index:
        index = folder / INDEX_FOLDER
        _copy_folder(bundle / INDEX_FOLDER, index)
        index.chmod(0o700)
    return InstalledBundle(folder, programs / f"crx{_SUFFIX}", index, checked)


def _copy_folder(source: Path, target: Path) -> None:
    """Copy the files of a folder; unlike `copytree`, it stops at the first error."""
    target.mkdir(parents=True)
    for path in source.iterdir():
        copy_regular(path, target / path.name)


def _install_wheels(bundle: Path, python: Path, folder: Path) -> None:
    """Install the wheels with pip, which checks each against its hash again."""
    wheels = sorted((bundle / WHEELS_FOLDER).glob("pip-*.whl"))
    if len(wheels) != 1:
        raise Damaged(f"{bundle}: does not hold one wheel of pip; copy the bundle again")
    (pip,) = wheels
    options = ["--isolated", "--no-index", "--find-links", str(bundle / WHEELS_FOLDER)]
    options += ["--require-hashes", "--no-cache-dir", "--disable-pip-version-check", "--quiet"]
    command = [str(python), "-I", str(pip / "pip"), "install", *options]
    requirements = ["-r", str(bundle / REQUIREMENTS_FILE)]
    _run([*command, *requirements], folder, what="pip did not install the wheels")
    core = [str(python), "-I", "-c", "import crx._native"]
    _run(core, folder, what="the core of crx cannot be loaded")


def _run(command: list[str], folder: Path, *, what: str) -> None:
    """Run a program of the new installation; raises the error that fits if it fails."""
    environ = {name: value for name, value in os.environ.items() if not _is_foreign(name)}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, errors="replace", env=environ
    )
    if not done.returncode:
        return
    if os.strerror(errno.ENOSPC) in done.stderr:
        raise NoRoom(f"{folder}: no space left; free some or name another folder")
    if "DO NOT MATCH THE HASHES" in done.stderr:
        raise Damaged(f"{folder}: a wheel was changed after it was checked; copy the bundle again")
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if "ERROR: " in line]
    reason = (errors or lines[-1:] or [f"exit code {done.returncode}"])[0].strip()
    raise SystemFailure(
        f"{folder}: {what} ({reason}); create the bundle on a machine like this one"
    )


def _is_foreign(variable: str) -> bool:
    """Return whether a variable would lead the new installation to the files of another."""
    return variable.startswith(("CRX_", "PIP_", "PYTHON", "VIRTUAL_ENV"))


def _require_room(folder: Path, needed: int) -> None:
    """Raise `NoRoom` if the disk has less space than an installation takes."""
    existing = next(each for each in (folder, *folder.absolute().parents) if each.is_dir())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise NoRoom(
            f"{folder}: {free / 1e6:,.0f} MB free, {needed / 1e6:,.0f} MB needed; free some or "
            "name another folder"
        )
