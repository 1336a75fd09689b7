"""Agents in faked homes: what they are given, and that all of it is taken back."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from crx.errors import UsageError
from crx.workers.child import script_command
from crx_serve.agent_clients import (
    AGENTS,
    apply_changes,
    found_agents,
    hook_command,
    plan_install,
    plan_uninstall,
)
from crx_serve.commands.agents import command
from crx_serve.mcp.clients import ServerCommand

SERVER = ServerCommand(("/opt/crx", "mcp", "--index", "/data/notes.crx"), {})
HOOK = "/opt/crx index --index /data/notes.crx --quiet"
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
    changes, refused = plan_install(home, found_agents(home), SERVER, hook=HOOK)
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
    changes, refused = plan_install(tmp_path, ["zed"], SERVER, hook=HOOK)
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


def test_servers_and_hooks_find_the_settings_and_models_of_the_user(tmp_path: Path) -> None:
    environment = {"CRX_HOME": "/home/of/crx", "CRX_MODELS": "/my models"}
    server = ServerCommand(("/opt/crx", "mcp"), environment)
    for name in ("claude", "opencode"):
        (tmp_path / AGENTS[name].signs[0]).mkdir(parents=True)
    hook = hook_command(("/opt/crx",), index="/notes.crx", environment=environment)
    changes, _ = plan_install(tmp_path, ["claude", "opencode"], server, hook=hook)
    apply_changes(changes, tmp_path / "agents.json", home=tmp_path)
    claude = json.loads((tmp_path / ".claude.json").read_text())
    assert claude["mcpServers"]["crx"]["env"] == environment
    opencode = json.loads((tmp_path / AGENTS["opencode"].settings).read_text())
    assert opencode["mcp"]["crx"]["environment"] == environment
    assert hooks_of(tmp_path) == [
        "env CRX_HOME=/home/of/crx 'CRX_MODELS=/my models' "
        "/opt/crx index --index /notes.crx --quiet"
    ]


def hooks_of(home: Path) -> list[str]:
    """Return the commands of the hooks of Claude Code."""
    settings = json.loads((home / ".claude/settings.json").read_text())
    return [one["command"] for each in settings["hooks"]["PostToolUse"] for one in each["hooks"]]


def test_a_hook_has_all_words_of_the_program_and_replaces_the_one_of_another_index(
    tmp_path: Path,
) -> None:
    (tmp_path / ".claude").mkdir()
    foreign = "cd ~/crx && make index --index x --quiet"
    entry = {"matcher": "Edit|MultiEdit|Write", "hooks": [{"type": "command", "command": foreign}]}
    (tmp_path / ".claude/settings.json").write_text(json.dumps({"hooks": {"PostToolUse": [entry]}}))
    record = tmp_path / "agents.json"
    for program in (script_command("crx"), ("/opt/my apps/crx",)):
        hook = hook_command(program, index="/my notes.crx", environment={})
        assert shlex.split(hook) == [*program, "index", "--index", "/my notes.crx", "--quiet"]
        changes, _ = plan_install(tmp_path, ["claude"], SERVER, hook=hook)
        apply_changes(changes, record, home=tmp_path)
        assert hooks_of(tmp_path) == [foreign, hook]
    record.unlink()
    apply_changes(plan_uninstall(tmp_path, ["claude"], record), record, home=tmp_path)
    assert hooks_of(tmp_path) == [foreign]


@pytest.mark.parametrize(
    "hooks",
    [
        *("[]", "null", '"x"', '{"PostToolUse": {}}', '{"PostToolUse": null}'),
        '{"PostToolUse": ["x", 1, null, {"hooks": "x"}, {"hooks": ["x"]}, {"hooks": null}]}',
        '{"PostToolUse": [{"matcher": "Edit|MultiEdit|Write", "hooks": [{"command": "it\'s"}]}]}',
    ],
)
def test_odd_hooks_are_kept_or_refused_in_a_line(hooks: str, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    settings = tmp_path / ".claude/settings.json"
    settings.write_text(f'{{"hooks": {hooks}}}')
    before = snapshot(tmp_path)
    changes, refused = plan_install(tmp_path, ["claude"], SERVER, hook=HOOK)
    record = tmp_path / "agents.json"
    assert bool(changes) != bool(refused)
    for line in refused:
        assert line == (
            'Claude Code: .claude/settings.json: "hooks" has no list "PostToolUse"; '
            "add the hook by hand"
        )
    apply_changes(changes, record, home=tmp_path)
    apply_changes(plan_uninstall(tmp_path, ["claude"], record), record, home=tmp_path)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": "\\ud800"}', "\ufeff{}", '{"mcp": 3}'])
def test_odd_settings_are_refused_in_a_line(text: str, tmp_path: Path) -> None:
    settings = tmp_path / AGENTS["opencode"].settings
    settings.parent.mkdir(parents=True)
    settings.write_text(text)
    changes, refused = plan_install(tmp_path, ["opencode"], SERVER, hook=HOOK)
    assert changes == []
    assert refused[0].startswith("opencode: .config/opencode/opencode.json: ")
    assert refused[0].endswith("by hand")


def test_a_damaged_record_is_told(tmp_path: Path) -> None:
    record = tmp_path / "agents.json"
    for text in ("{", '{"/x": 1}', "[]"):
        record.write_text(text)
        with pytest.raises(UsageError, match=r"agents\.json: is damaged .* delete it"):
            plan_uninstall(tmp_path, ["claude"], record)
