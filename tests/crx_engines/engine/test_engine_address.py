"""Addresses of engines: what opens them, and what is said where nothing does."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from crx.errors import UsageError
from crx.plugins import is_engine_address
from crx_engines.folder.copy import open_engine
from crx_engines.folder.local_engine import LocalEngine

# Runs a command line as if the import package of the engines were not installed.
WITHOUT_ENGINES = """
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "crx_engines":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from crx._cli import run
sys.exit(run(sys.argv[1:]))
"""


def without_engines(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_ENGINES, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> dict[str, EntryPoint]:
    """Entry points in place of those that are installed."""
    found: dict[str, EntryPoint] = {}
    monkeypatch.setattr("crx.plugins.find_plugins", lambda group: found)
    return found


@pytest.mark.parametrize(
    "address",
    ["postgresql://u@h/d", "POSTGRES://h", "milvus://h", "milvus-lite:notes.db", "s3://bucket/x"],
)
def test_an_address_is_told_from_a_path(address: str) -> None:
    assert is_engine_address(address)
    assert not any(map(is_engine_address, [f"./{address}", "notes.crx", "C:\\notes", "a:b", None]))


def test_a_scheme_of_an_installed_engine_needs_no_slashes(plugins: dict[str, EntryPoint]) -> None:
    assert not is_engine_address("memory:notes")
    plugins["memory"] = EntryPoint("memory", "nowhere:open", "crx.engines")
    assert is_engine_address("memory:notes")


def test_a_path_is_opened_as_a_folder(tmp_path: Path) -> None:
    assert isinstance(open_engine(str(tmp_path)), LocalEngine)


@pytest.mark.parametrize(
    ("address", "line"),
    [
        (
            "postgresql://u:p@h/d",
            "postgresql://u@h/d: no installed package opens postgresql: addresses; "
            'pip install "crx[postgres]"',
        ),
        (
            "milvus-lite:notes.db",
            "milvus-lite:notes.db: no installed package opens milvus-lite: addresses; "
            'pip install "crx[milvus]"',
        ),
        (
            "s3://bucket",
            "s3://bucket: no installed package opens s3: addresses; install one that does; "
            "known: none",
        ),
    ],
)
def test_an_address_that_nothing_opens_says_what_to_install(
    plugins: dict[str, EntryPoint], address: str, line: str
) -> None:
    with pytest.raises(UsageError) as raised:
        open_engine(address)
    assert str(raised.value) == line


def test_what_is_no_engine_is_refused(plugins: dict[str, EntryPoint]) -> None:
    plugins["memory"] = EntryPoint("memory", "builtins:str", "crx.engines")
    with pytest.raises(UsageError, match='plugin "memory" returned str, which is not an Engine'):
        open_engine("memory:notes")


def test_commands_work_without_the_package_of_the_engines(tmp_path: Path) -> None:
    (tmp_path / "whales.md").write_text("# Whales\n\nKrill is what a whale eats.\n")
    options = ("--embedder", "none")
    assert without_engines("index", "-q", ".", *options, cwd=tmp_path).returncode == 0
    found = without_engines("search", "krill", cwd=tmp_path)
    assert found.stdout.startswith("1. whales.md"), found.stderr


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("search", "--index", "postgresql://u:secret@h/d", "x"), "postgres"),
        (("status", "--index", "milvus://h"), "milvus"),
        (("copy", "copy.crx", "milvus-lite:notes.db"), "postgres"),
    ],
)
def test_without_the_package_an_address_says_what_to_install(
    arguments: tuple[str, ...], extra: str, tmp_path: Path
) -> None:
    done = without_engines(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the package crx_engines" in done.stderr
    assert done.stderr.endswith(f'is not installed; pip install "crx[{extra}]"\n')
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr
