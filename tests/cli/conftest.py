"""An empty current folder, a user of the embedder without weights, and two documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import BREAD, WHALES, Crx


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and a user who has chosen the embedder without weights."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (home / "config.toml").write_text('embedder = "hashed"\n')
    monkeypatch.setenv("CRX_HOME", str(home))
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def docs(here: Path) -> Path:
    """A folder with two documents."""
    (here / "docs").mkdir()
    (here / "docs" / "whales.md").write_text(WHALES)
    (here / "docs" / "bread.md").write_text(BREAD)
    return here / "docs"


@pytest.fixture
def crx(capsys: pytest.CaptureFixture[str]) -> Crx:
    """Runs commands in this process."""
    return Crx(capsys)


@pytest.fixture
def indexed(crx: Crx, docs: Path) -> Path:
    """An index of both documents."""
    assert crx("index", docs, "-q").code == 0
    return docs.parent / ".crx"
