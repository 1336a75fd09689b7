"""Agents in faked homes: what they are given, and that all of it is taken back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from crx_serve.agent_clients import (
    AGENTS,
    apply_changes,
    found_agents,
    plan_install,
    plan_uninstall,
)
from crx_serve.commands.agents import command

WORDS = ("/opt/crx", "mcp", "--index", "/data/notes.crx")
# What the files of each agent hold before, odd white space, comments of TOML and a lacking line end
# included; "" is a folder.
BEFORE = {
    "claude": {
        ".claude.json": '{"numStartups":3,  "mcpServers": {"other": {"command": "x"}}}',
        ".claude/CLAUDE.md": "# Mine\n\nBe brief.",
        ".claude/settings.json": '{\n\t"hooks": {"PostToolUse": [{"matcher": "Bash"}]}\n}',
    },
    "codex": {".codex/config.toml": '# mine\nmodel = "o"\n\n[mcp_servers.other]\ncommand = "x"\n'},
    "cursor": {".cursor/mcp.json": '{"mcpServers":{}}\r\n'},
    "gemini": {".gemini/settings.json": "{}", ".gemini/GEMINI.md": "Schön.\n\n\n"},
    "opencode": {
        ".config/opencode/opencode.json": '{"$schema": "https://opencode.ai/config.json"}'
    },
    "vscode": {".config/Code/User": ""},
    "windsurf": {".codeium/windsurf": ""},
    "zed": {".config/zed/settings.json": '{ "theme": "One" }\n'},
}


@pytest.fixture(params=list(BEFORE))
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The home of a user who has one agent."""
    home = tmp_path / "home"
    for name, text in BEFORE[request.param].items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        if text:
            (home / name).write_bytes(text.encode())
        else:
            (home / name).mkdir()
    return home


def snapshot(home: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(home)): path.read_bytes() if path.is_file() else None
        for path in sorted(home.rglob("*"))
    }


def install(home: Path, record: Path) -> None:
    changes, refused = plan_install(home, found_agents(home), WORDS, index="/data/notes.crx")
    assert not refused
    apply_changes(changes, record, home=home)


def test_after_uninstall_each_home_is_byte_for_byte_as_before(home: Path, tmp_path: Path) -> None:
    before, record = snapshot(home), tmp_path / "agents.json"
    (name,) = found_agents(home)
    install(home, record)
    assert b"/data/notes.crx" in (home / AGENTS[name].settings).read_bytes()
    installed = snapshot(home)
    assert installed != before
    # Again, which changes nothing, also not what was before.
    install(home, record)
    assert snapshot(home) == installed
    apply_changes(plan_uninstall(home, list(AGENTS), record), record, home=home)
    assert snapshot(home) == before
    assert not record.exists()


def test_what_was_changed_since_stays_and_only_what_is_of_crx_goes(tmp_path: Path) -> None:
    home, record = tmp_path / "home", tmp_path / "agents.json"
    for name, text in BEFORE["claude"].items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.encode())
    install(home, record)
    settings = json.loads((home / ".claude.json").read_text())
    (home / ".claude.json").write_text(json.dumps({**settings, "numStartups": 4}))
    guide = home / ".claude/CLAUDE.md"
    guide.write_text(guide.read_text() + "New.\n")
    apply_changes(plan_uninstall(home, list(AGENTS), record), record, home=home)
    assert json.loads((home / ".claude.json").read_text()) == {
        "numStartups": 4,
        "mcpServers": {"other": {"command": "x"}},
    }
    assert guide.read_text() == "# Mine\n\nBe brief.\n\nNew.\n"


def test_settings_with_comments_are_left_alone_with_the_reason(tmp_path: Path) -> None:
    zed = tmp_path / ".config/zed/settings.json"
    zed.parent.mkdir(parents=True)
    zed.write_text("// mine\n{}\n")
    changes, refused = plan_install(tmp_path, ["zed"], WORDS, index="/data/notes.crx")
    assert changes == []
    assert refused[0].startswith("Zed: .config/zed/settings.json: not plain JSON")


def test_the_command_installs_for_agents_that_are_found_and_a_dry_run_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, index = tmp_path / "home", tmp_path / "notes.crx"
    (home / ".cursor").mkdir(parents=True)
    index.mkdir()
    (index / "index.db").touch()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CRX_HOME", str(tmp_path / "crx"))
    monkeypatch.setattr("crx_serve.commands.agents.existing_index", lambda folder: Path(folder))

    def run(*words: str) -> str:
        result = CliRunner().invoke(command, words, catch_exceptions=False)
        assert result.exit_code == 0
        return result.output

    assert "Cursor" in run("install", "--index", str(index), "--dry-run")
    assert snapshot(home) == {".cursor": None}
    assert "written" in run("install", "--index", str(index))
    assert str(index) in (home / ".cursor/mcp.json").read_text()
    assert "would be removed" in run("uninstall", "--dry-run")
    assert "removed" in run("uninstall")
    assert snapshot(home) == {".cursor": None}
    assert "no agent has anything of crx" in run("uninstall")
