"""The `crx` command with an own folder and home, in another process or, faster, in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crx._cli import run

# Root may read everything, whatever the permission bits. Without these two capabilities they bind.
_BOUND_BY_PERMISSIONS = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
os.execv(sys.executable, [sys.executable, "-m", "crx", *sys.argv[1:]])
"""


@dataclass(frozen=True)
class Finished:
    """A process that has ended; its output with undecodable bytes kept as surrogates."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The answer of a command that was given `--json`."""
        return json.loads(self.out)


@dataclass(frozen=True)
class CrxProcess:
    """Runs `crx` in a folder; `before` is a command that runs the rest of its line."""

    folder: Path
    home: Path
    before: tuple[str, ...] = ()

    def __call__(self, *arguments: str | bytes | Path, cwd: Path | None = None) -> Finished:
        """Run a command line; an argument may be bytes that are no text."""
        return self._run([sys.executable, "-m", "crx"], arguments, cwd)

    def bound_by_permissions(
        self, *arguments: str | bytes | Path, cwd: Path | None = None
    ) -> Finished:
        """Run a command line for which permission bits hold, also when root runs the tests."""
        return self._run([sys.executable, "-c", _BOUND_BY_PERMISSIONS], arguments, cwd)

    def _run(
        self, program: list[str], arguments: tuple[str | bytes | Path, ...], cwd: Path | None
    ) -> Finished:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("CRX_")}
        finished = subprocess.run(
            [*self.before, *program, *map(os.fsencode, arguments)],
            capture_output=True,
            check=False,
            cwd=cwd or self.folder,
            env={**environ, "CRX_HOME": str(self.home)},
        )
        return Finished(
            finished.returncode, os.fsdecode(finished.stdout), os.fsdecode(finished.stderr)
        )


@dataclass(frozen=True)
class CrxHere:
    """Runs `crx` in this process."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str | Path, cwd: Path | None = None) -> Finished:
        """Run a command line in a folder, which stays the current one."""
        os.chdir(cwd or self.folder)
        self.capsys.readouterr()
        code = run([str(each) for each in arguments])
        return Finished(code, *self.capsys.readouterr())


def make_folders(folder: Path) -> tuple[Path, Path]:
    """Return a folder to work in and a home whose settings choose the hashed embedder."""
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    (home / "config.toml").write_text('embedder = "hashed"\n')
    return work, home
