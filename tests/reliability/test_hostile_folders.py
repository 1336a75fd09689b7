"""Every command in folders that other people made: nothing outside is written, read or sent."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import BREAD, WHALES
from fault_injection.effort import Effort
from hostile_folders import HostileFolder, Places, hostile_folders
from traced_commands import COMMANDS, Listener, Violation, listening, run_traced

from crx._cli import COMMANDS as ALL_COMMANDS

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")

# One folder of each kind of attack, in the quick runs before those that chance chooses.
FIRST = (
    "a link to a file at .crx/lock without derived files",
    "a link to a folder at .crx/derived",
    "embedder: a service",
    "root: a folder outside",
    "crx.toml: limits",
    "document: dated 2300",
    "document: a module named pip",
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with an index that somebody else has made, on another machine."""
    top = tmp_path_factory.mktemp("template")
    docs = top / "work" / "docs"
    docs.mkdir(parents=True)
    (docs / "whales.md").write_text(WHALES)
    (docs / "bread.md").write_text(BREAD)
    environ = {"CRX_HOME": str(top / "home"), "PATH": "/usr/bin:/bin"}
    make = "from crx._cli import main; main()"
    words = [sys.executable, "-c", make, "index", "docs", "--embedder", "hashed", "-q"]
    paths = {"PYTHONPATH": ":".join(sys.path)}
    subprocess.run(words, cwd=top / "work", env={**environ, **paths}, check=True)
    return top / "work"


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with listening() as made:
        yield made


def attack(
    folder: HostileFolder, top: Path, *, template: Path, listener: Listener
) -> list[Violation]:
    """Build a folder, run every command in it, and return what these did outside."""
    places = Places(top, listener.url)
    folder.build(places, template=template)
    try:
        return run_traced(top, listener)
    finally:
        shutil.rmtree(top)


def test_there_are_two_hundred_folders_and_every_command_is_run() -> None:
    names = [folder.name for folder in hostile_folders()]
    assert len(set(names)) == len(names) >= 200
    assert set(FIRST) <= set(names)
    untraced = {"agents", "completion", "help", "open"}  # which open no index
    assert {command[0] for command in COMMANDS} == set(ALL_COMMANDS) - untraced


def test_commands_act_on_nothing_outside_a_hostile_folder(
    effort: Effort, tmp_path: Path, template: Path, listener: Listener
) -> None:
    folders = {folder.name: folder for folder in hostile_folders()}
    rest = [name for name in folders if name not in FIRST]
    effort.chance.shuffle(rest)
    found: dict[str, list[Violation]] = {}
    for at, name in enumerate([*FIRST, *rest][: effort.runs(quick=len(FIRST), full=len(folders))]):
        top = tmp_path / str(at)
        top.mkdir()
        violations = attack(folders[name], top, template=template, listener=listener)
        effort.done += 1
        effort.outcomes["harmless" if not violations else "harmful"] += 1
        if violations:
            found[name] = violations
    assert found == {}


def test_a_command_that_acts_outside_is_seen(
    tmp_path: Path, template: Path, listener: Listener
) -> None:
    places = Places(tmp_path / "top", listener.url)
    places.top.mkdir()
    nothing = HostileFolder("nothing", lambda places: None)
    nothing.build(places, template=template)
    secret = places.outside / "secret.md"
    found = run_traced(
        places.top,
        listener,
        commands=[
            ("index", str(secret)),
            ("export", str(secret)),
            ("backup", str(places.outside / "copy")),
            ("search", "x", "--embedder"),
        ],
    )
    kinds = {(each.kind, each.command.split()[0]) for each in found}
    assert {("read", "index"), ("changed", "?"), ("mkdirat", "backup")} <= kinds
    assert any(
        kind in ("written", "rename", "renameat") for kind, name in kinds if name == "export"
    )
