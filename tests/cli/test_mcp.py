"""`crx mcp install`: what it prints, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Crx


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crx_serve.commands.mcp.installed_program", lambda: ("/opt/crx",))
    for name in ("CRX_HOME", "CRX_MODELS"):  # an entry passes on where they are
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def indexed(crx: Crx, docs: Path) -> Path:
    """An index that is made without the settings of `CRX_HOME`."""
    assert crx("index", docs, "-q", "--embedder", "hashed").code == 0
    return docs.parent / ".crx"


def test_the_command_for_claude_code_is_printed(crx: Crx, indexed: Path) -> None:
    done = crx("mcp", "install", "claude", "--allow-write")
    assert done.out == (
        f"claude mcp add --transport stdio crx -- /opt/crx mcp --index {indexed} --allow-write\n"
    )


def test_an_entry_is_printed_with_the_file_it_belongs_to(crx: Crx, indexed: Path) -> None:
    done = crx("mcp", "install", "zed")
    entry = {"command": "/opt/crx", "args": ["mcp", "--index", str(indexed)]}
    assert json.loads(done.out) == {"context_servers": {"crx": entry}}
    assert done.err == "crx: Zed reads this from .zed/settings.json; --merge writes it there\n"


def test_an_entry_is_merged_into_the_file_of_the_client(crx: Crx, indexed: Path) -> None:
    done = crx("mcp", "install", "vscode", "--merge", "--uvx", "--index", f"notes={indexed.name}")
    assert done.out == ".vscode/mcp.json: crx added; restart Visual Studio Code\n"
    entry = json.loads(Path(".vscode/mcp.json").read_text())["servers"]["crx"]
    assert entry["command"] == "uvx"
    assert entry["args"] == ["--from", "crx[mcp]", "crx", "mcp", "--index", f"notes={indexed}"]


def test_an_entry_for_windsurf_is_merged_into_its_file_in_the_folder_of_the_user(
    crx: Crx, indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "user"))
    assert crx("mcp", "install", "windsurf").err == (
        "crx: Windsurf reads this from ~/.codeium/windsurf/mcp_config.json; --merge writes it "
        "there\n"
    )
    assert crx("mcp", "install", "windsurf", "--merge").code == 0
    file = tmp_path / "user" / ".codeium" / "windsurf" / "mcp_config.json"
    assert json.loads(file.read_text())["mcpServers"]["crx"]["command"] == "/opt/crx"


def test_without_an_index_nothing_is_printed(crx: Crx) -> None:
    done = crx("mcp", "install", "claude")
    assert (done.code, done.out) == (2, "")
    assert "no index here or above" in done.err
