"""The entry of the server in the settings of each client."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import tomlkit

from crx.errors import UsageError
from crx_serve.mcp.clients import (
    CLIENTS,
    McpClient,
    ServerCommand,
    merge_settings,
    server_command,
    settings_text,
    uvx_program,
)

COMMAND = ServerCommand(("/opt/crx", "mcp", "--index", "/data/notes.crx"), {})


def test_each_client_gets_the_entry_that_it_documents() -> None:
    words = {"command": "/opt/crx", "args": ["mcp", "--index", "/data/notes.crx"]}
    entries = {name: COMMAND.entry(client) for name, client in CLIENTS.items()}
    assert entries == {
        "claude": {"type": "stdio", **words},
        "codex": words,
        "cursor": words,
        "gemini": words,
        "opencode": {
            "type": "local",
            "command": ["/opt/crx", "mcp", "--index", "/data/notes.crx"],
            "enabled": True,
        },
        "vscode": {"type": "stdio", **words},
        "windsurf": words,
        "zed": words,
    }


def test_claude_code_adds_the_server_by_a_command() -> None:
    server = server_command(uvx_program(), ["--index", "/my notes.crx"], environ={})
    assert shlex.join(server.claude_arguments()) == (
        "claude mcp add --transport stdio crx -- "
        "uvx --from 'crx[mcp]' crx mcp --index '/my notes.crx'"
    )


def test_the_folders_of_settings_and_models_are_passed_on_and_keys_are_not() -> None:
    environ = {"CRX_HOME": "/home/of/crx", "OPENAI_API_KEY": "secret", "CRX_MODELS": ""}
    server = server_command(["crx"], [], environ=environ)
    assert server.entry(CLIENTS["cursor"])["env"] == {"CRX_HOME": "/home/of/crx"}
    assert server.claude_arguments()[5:7] == ["--env", "CRX_HOME=/home/of/crx"]


def test_codex_reads_a_table_of_toml() -> None:
    server = server_command(["/opt/crx"], [], environ={"CRX_HOME": "/home/of/crx"})
    assert settings_text(CLIENTS["codex"], server.entry(CLIENTS["codex"])) == (
        "[mcp_servers.crx]\n"
        'command = "/opt/crx"\n'
        'args = ["mcp"]\n'
        "\n"
        "[mcp_servers.crx.env]\n"
        'CRX_HOME = "/home/of/crx"\n'
    )


def test_an_entry_is_merged_into_toml_and_comments_stay(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    before = '# mine\nmodel = "o" # fast\n\n[mcp_servers.other]\ncommand = "x"\n'
    file.write_text(before)
    client = CLIENTS["codex"]
    assert merge_settings(file, client, {"command": "old"}) == "added"
    assert merge_settings(file, client, COMMAND.entry(client)) == "replaced"
    assert merge_settings(file, client, COMMAND.entry(client)) == "unchanged"
    text = file.read_text()
    assert text.startswith(before)
    assert tomlkit.parse(text)["mcp_servers"] == {
        "other": {"command": "x"},
        "crx": COMMAND.entry(client),
    }


def test_an_entry_is_the_only_one_of_a_new_file(tmp_path: Path) -> None:
    for name, client in CLIENTS.items():
        file = tmp_path / name
        assert merge_settings(file, client, COMMAND.entry(client)) == "added"
        assert file.read_text() == settings_text(client, COMMAND.entry(client))


OF_JSON = {name: client for name, client in CLIENTS.items() if not client.is_toml}


@pytest.mark.parametrize("client", OF_JSON.values(), ids=list(OF_JSON))
def test_an_entry_is_merged_and_everything_else_stays(client: McpClient, tmp_path: Path) -> None:
    file = tmp_path / client.file.removeprefix("~/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"theme": "déjà", client.key: {"other": {"command": "x"}}}))
    assert merge_settings(file, client, {"command": "old"}) == "added"
    assert merge_settings(file, client, COMMAND.entry(client)) == "replaced"
    assert merge_settings(file, client, COMMAND.entry(client)) == "unchanged"
    assert json.loads(file.read_text()) == {
        "theme": "déjà",
        client.key: {"other": {"command": "x"}, "crx": COMMAND.entry(client)},
    }
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  // my servers\n  "mcpServers": {}\n}', "not plain JSON"),
        ("[]", "not an object"),
        ('{"mcpServers": []}', '"mcpServers" is not an object'),
    ],
)
def test_a_file_that_cannot_be_merged_stays_as_it_is(
    text: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=f"{message}.*by hand"):
        merge_settings(file, CLIENTS["cursor"], {})
    assert file.read_text() == text


def test_a_file_that_is_not_toml_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[mcp_servers\n")
    with pytest.raises(UsageError, match=r"not TOML .*by hand"):
        merge_settings(file, CLIENTS["codex"], {})
    assert file.read_text() == "[mcp_servers\n"


def test_a_link_to_a_settings_file_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("{}")
    link = tmp_path / "mcp.json"
    link.symlink_to(real)
    merge_settings(link, CLIENTS["cursor"], {"command": "crx"})
    assert link.is_symlink()
    assert json.loads(real.read_text()) == {"mcpServers": {"crx": {"command": "crx"}}}


@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_a_file_that_is_not_utf_8_stays_as_it_is(name: str, tmp_path: Path) -> None:
    file = tmp_path / "settings"
    file.write_bytes(b'a = "\xe9"\n')
    with pytest.raises(UsageError, match=r"settings: not .*by hand"):
        merge_settings(file, CLIENTS[name], {})
    assert file.read_bytes() == b'a = "\xe9"\n'
