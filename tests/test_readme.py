"""The README's examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with documents, and settings of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CRX_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CRX_EMBEDDER", "hashed")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "contract.md").write_text(
        "# Supply agreement\n\nThe supplier delivers the goods within thirty days, and "
        "the buyer pays for the goods.\n\nEither party may end the agreement in writing.\n"
    )
    return tmp_path


@pytest.mark.parametrize("block", blocks("python"))
def test_an_example_in_python_runs_and_answers(
    block: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(block, "README.md", "exec"), {})
    assert "Either party may end the agreement" in capsys.readouterr().out


def test_the_first_commands_answer(capsys: pytest.CaptureFixture[str]) -> None:
    import shlex

    from crx.cli import run

    (first,) = [block for block in blocks("") if block.startswith("$ crx index")]
    for line in first.splitlines():
        assert run(shlex.split(line.removeprefix("$ crx "))) == 0
    assert "Either party may end the agreement" in capsys.readouterr().out
