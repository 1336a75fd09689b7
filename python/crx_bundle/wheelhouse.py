"""The wheelhouse of a bundle: the wheels of crx, of its dependencies and of pip.

pip collects them, so the user's index, proxy and certificates apply. A dependency that the registry
has only as sources is built.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.utils import canonicalize_name

from crx.config import refuse_offline
from crx.errors import NoRoom, SystemFailure, UsageError
from crx.workers.child import script_command
from crx_bundle.manifest import REQUIREMENTS_FILE, WHEELS_FOLDER
from crx_bundle.own_wheel import pack_wheel
from crx_bundle.wheel import WheelFacts, read_wheel

_NAME = "crx"


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelSources:
    """Where the wheels come from.

    `folder` is a folder of wheels that is used instead of the registry. `own` is the wheel of crx;
    without it, it is that in `folder`, else it is made of the running installation. `extras` are
    those of crx that are installed; None is `all`, if the wheel offers it.
    """

    folder: Path | None = None
    own: Path | None = None
    extras: tuple[str, ...] | None = None


def collect_wheels(bundle: Path, sources: WheelSources) -> list[WheelFacts]:
    """Collect the wheels into a bundle, with their hashes as requirements; return their facts.

    Raises `UsageError` for a file that is not a wheel of crx, an unknown extra and a folder that
    lacks a wheel, `Offline`, `NoRoom`, and `SystemFailure` if pip fails.
    """
    if sources.folder is None:
        refuse_offline("crx bundle create without --from")
    elif not sources.folder.is_dir():
        raise UsageError(f"{sources.folder}: no such folder of wheels")
    if importlib.util.find_spec("pip") is None:
        raise SystemFailure(
            'this Python has no pip to collect the wheels; install it: "python -m ensurepip"'
        )
    with tempfile.TemporaryDirectory(dir=bundle) as temporary:
        own = sources.own or _find_own(sources.folder) or _pack_own(Path(temporary))
        facts = read_wheel(own)
        chosen = choose_extras(sources, facts)
        _check_own(facts, chosen)
        extras = f"[{','.join(chosen)}]" if chosen else ""
        requirement = f"{_NAME}{extras} @ {own.absolute().as_uri()}"
        _run_pip(bundle / WHEELS_FOLDER, requirement, sources.folder, Path(temporary))
    wheels = [read_wheel(path) for path in sorted((bundle / WHEELS_FOLDER).glob("*.whl"))]
    lines = [f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}\n" for wheel in wheels]
    requirements = bundle / REQUIREMENTS_FILE
    requirements.write_text("".join(lines), encoding="utf-8", newline="\n")
    return wheels


def choose_extras(sources: WheelSources, own: WheelFacts) -> tuple[str, ...]:
    """Return the extras of the wheel of crx that a bundle has."""
    if sources.extras is None:
        return ("all",) if "all" in own.extras else ()
    return sources.extras


def _find_own(folder: Path | None) -> Path | None:
    """Return the wheel of the running version of crx in a folder, or None."""
    version = metadata.version(_NAME)
    return next(iter(sorted(folder.glob(f"{_NAME}-{version}-*.whl"))), None) if folder else None


def _pack_own(folder: Path) -> Path:
    return pack_wheel(metadata.distribution(_NAME), folder)


def _check_own(wheel: WheelFacts, extras: Sequence[str]) -> None:
    if wheel.key != _NAME:
        raise UsageError(f"{wheel.path}: a wheel of {wheel.name}, not of {_NAME}")
    for extra in extras:
        if canonicalize_name(extra) not in wheel.extras:
            known = ", ".join(wheel.extras) or "none"
            raise UsageError(f"{extra}: no such extra of {_NAME} {wheel.version}; known: {known}")


def _run_pip(wheels: Path, requirement: str, folder: Path | None, temporary: Path) -> None:
    """Collect the wheels of a requirement and of pip itself in a folder."""
    options = ["--wheel-dir", str(wheels), "--prefer-binary", "--no-input", "--quiet"]
    options += ["--disable-pip-version-check"]
    if folder is not None:
        options += ["--no-index", "--find-links", str(folder)]
    # What pip unpacks must find room where the bundle does, not in a small /tmp.
    folders = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(temporary))
    done = subprocess.run(
        [*script_command("pip"), "wheel", *options, requirement, "pip"],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, **folders},
    )
    if done.returncode:
        raise _pip_error(done.stderr, folder)


def _pip_error(stderr: str, folder: Path | None) -> UsageError | NoRoom | SystemFailure:
    """Return the error for what pip printed when it failed."""
    if os.strerror(errno.ENOSPC) in stderr:
        return NoRoom("no space left for the wheels; free some or name another folder")
    errors = [line.removeprefix("ERROR: ") for line in stderr.splitlines() if "ERROR: " in line]
    reason = (errors or ["pip failed"])[-1].rstrip(".")
    if folder is not None:
        return UsageError(
            f"{folder}: lacks a wheel ({reason}); add it, or leave out --from to use the registry"
        )
    if "connection broken by" in stderr:
        reason = "no connection"
    return SystemFailure(
        f"wheels not collected from the package registry ({reason}); name a folder of wheels with "
        "--from"
    )
