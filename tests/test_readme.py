"""The README's examples run, and its figures are those of `BENCHMARKS.md`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crx._models.store import list_models
from crx.registry import DEFAULT_EMBEDDER

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
# What installs or builds; that the targets and options exist is tested elsewhere.
NOT_RUN = ("pip install", "uv tool install", "crx models pull", "make demo", "make test")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> Iterator[tuple[str, str]]:
    """Yield each command with what it is shown to print."""
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with documents and the examples, and settings of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CRX_HOME", str(tmp_path / "home"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "contract.md").write_text(
        "# Supply agreement\n\nThe supplier delivers the goods within thirty days, and "
        "the buyer pays for the goods.\n\nEither party may end the agreement in writing.\n"
    )
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.mark.parametrize("block", blocks("python"))
def test_an_example_in_python_runs_and_answers(
    block: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_EMBEDDER", "hashed")
    exec(compile(block, "README.md", "exec"), {})
    assert "Either party may end the agreement" in capsys.readouterr().out


def test_the_commands_run_and_print_what_they_are_shown_to_print(folder: Path) -> None:
    with_model = DEFAULT_EMBEDDER in list_models()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path}
    if not with_model:
        environ["CRX_EMBEDDER"] = "hashed"
    ran = 0
    for command, printed in commands():
        if command.startswith(NOT_RUN):
            continue
        done = subprocess.run(
            ["bash", "-c", command], env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        if with_model:
            assert done.stdout.strip() == printed.strip()
        ran += 1
    assert ran == 5


def test_the_figures_are_those_of_the_results() -> None:
    command = [sys.executable, str(ROOT / "benches" / "report.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_picture_is_there() -> None:
    named = re.findall(r"docs/pictures/[\w-]+\.\w+", README)
    assert len(named) == 3
    assert [name for name in named if not (ROOT / name).is_file()] == []
