"""The command line, each test with a folder and a home of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from crx_process import CrxHere, CrxProcess, make_folders


@pytest.fixture
def crx_process(tmp_path: Path) -> CrxProcess:
    """Runs commands in processes of their own."""
    return CrxProcess(*make_folders(tmp_path))


@pytest.fixture
def crx_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> CrxHere:
    """Runs commands in this process."""
    work, home = make_folders(tmp_path)
    monkeypatch.setenv("CRX_HOME", str(home))
    monkeypatch.chdir(work)
    return CrxHere(work, capsys)
