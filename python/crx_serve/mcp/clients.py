"""Programs that start MCP servers, and the entry that each needs in its settings file.

A client starts the server with an environment of its own, so the entry holds the absolute paths of
the program and of the indexes, and the folders that `CRX_HOME` and `CRX_MODELS` name.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tomlkit
from tomlkit.exceptions import TOMLKitError

from crx.config.files import replace_bytes
from crx.errors import UsageError
from crx.workers.child import script_command

# The name of the server in a client's settings.
SERVER_NAME = "crx"
# The requirement from which `uvx` installs the server.
_REQUIREMENT = "crx[mcp]"
# Variables that decide which settings and models the server finds.
_PASSED_ON = ("CRX_HOME", "CRX_MODELS")

Merged = Literal["added", "replaced", "unchanged"]


@dataclass(frozen=True, slots=True)
class McpClient:
    """A program that starts MCP servers.

    `file` is its settings file, JSON or TOML, relative to a project's folder, or to the user's if
    it begins with `~`. `key` is the object in it that holds the servers by name. `is_typed` says
    whether an entry names its transport, `is_one_list` whether program and arguments are one list.
    """

    title: str
    file: str
    key: str
    is_typed: bool = False
    is_one_list: bool = False

    @property
    def is_of_user(self) -> bool:
        """Whether the settings file is one for all projects of the user."""
        return self.file.startswith("~")

    @property
    def is_toml(self) -> bool:
        """Whether the settings file is TOML."""
        return self.file.endswith(".toml")


CLIENTS = {
    "claude": McpClient("Claude Code", ".mcp.json", "mcpServers", is_typed=True),
    "codex": McpClient("Codex", ".codex/config.toml", "mcp_servers"),
    "cursor": McpClient("Cursor", ".cursor/mcp.json", "mcpServers"),
    "gemini": McpClient("Gemini CLI", ".gemini/settings.json", "mcpServers"),
    "opencode": McpClient("opencode", "opencode.json", "mcp", is_one_list=True),
    "vscode": McpClient("Visual Studio Code", ".vscode/mcp.json", "servers", is_typed=True),
    "windsurf": McpClient("Windsurf", "~/.codeium/windsurf/mcp_config.json", "mcpServers"),
    "zed": McpClient("Zed", ".zed/settings.json", "context_servers"),
}


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """The command line that starts the server, and the variables that it needs."""

    words: tuple[str, ...]
    environment: Mapping[str, str]

    def entry(self, client: McpClient) -> dict[str, object]:
        """Return the entry of the server in a client's settings."""
        if client.is_one_list:
            environment = {"environment": dict(self.environment)} if self.environment else {}
            return {"type": "local", "command": [*self.words], "enabled": True, **environment}
        return {
            **({"type": "stdio"} if client.is_typed else {}),
            "command": self.words[0],
            "args": list(self.words[1:]),
            **({"env": dict(self.environment)} if self.environment else {}),
        }

    def claude_arguments(self) -> list[str]:
        """Return the command that has Claude Code add the server."""
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        options = [word for each in variables for word in ("--env", each)]
        return [
            *("claude", "mcp", "add", "--transport", "stdio"),
            *options,
            *(SERVER_NAME, "--", *self.words),
        ]


def installed_program() -> tuple[str, ...]:
    """Return the words that start this installation of crx."""
    script = Path(sys.executable).with_name("crx")
    found = str(script) if script.is_file() else shutil.which("crx")
    return (found,) if found else script_command("crx")


def uvx_program() -> tuple[str, ...]:
    """Return the words by which uvx installs crx from the package index and starts it."""
    return ("uvx", "--from", _REQUIREMENT, "crx")


def server_command(
    program: Sequence[str], arguments: Sequence[str], *, environ: Mapping[str, str]
) -> ServerCommand:
    """Return the command of `crx mcp` with these arguments."""
    passed_on = {name: environ[name] for name in _PASSED_ON if environ.get(name)}
    return ServerCommand((*program, "mcp", *arguments), passed_on)


def settings_text(client: McpClient, entry: Mapping[str, object]) -> str:
    """Return a client's settings file with no other entry."""
    return format_settings({client.key: {SERVER_NAME: entry}}, is_toml=client.is_toml)


def merge_settings(path: Path, client: McpClient, entry: Mapping[str, object]) -> Merged:
    """Put the entry into a settings file, whose other content stays; returns what was done.

    Raises `UsageError` as `with_entry` does.
    """
    target = path.resolve()
    data = target.read_bytes() if target.is_file() else b""
    merged = with_entry(data, client, entry, name=str(path))
    if merged == data:
        return "unchanged"
    before = parse_settings(data, is_toml=client.is_toml, name=str(path)).get(client.key, {})
    replace_bytes(target, merged)
    return "replaced" if SERVER_NAME in before else "added"


def with_entry(data: bytes, client: McpClient, entry: Mapping[str, object], *, name: str) -> bytes:
    """Return a settings file with the entry, the same bytes if it has it; other content stays.

    Comments of TOML stay. Raises `UsageError` that begins with `name` if the file is not plain
    JSON, as with comments in it, which would be lost, or not TOML.
    """
    settings = parse_settings(data, is_toml=client.is_toml, name=name)
    servers = settings.setdefault(client.key, {})
    if not isinstance(servers, MutableMapping):
        raise UsageError(f'{name}: "{client.key}" is not an object; add the entry by hand')
    if servers.get(SERVER_NAME) == entry:
        return data
    servers[SERVER_NAME] = dict(entry)
    return format_settings(settings, is_toml=client.is_toml).encode()


def parse_settings(data: bytes, *, is_toml: bool, name: str) -> MutableMapping[str, Any]:
    """Return the object that a settings file holds, an empty one for no bytes; `UsageError`."""
    try:
        text = data.decode()
        settings = tomlkit.parse(text) if is_toml else json.loads(text if text.strip() else "{}")
        format_settings(settings, is_toml=is_toml).encode()  # fails for half a surrogate pair
    except (ValueError, RecursionError, TOMLKitError) as error:
        kind = "TOML" if is_toml else "plain JSON"
        raise UsageError(f"{name}: not {kind} ({error}); add the entry by hand") from None
    if not isinstance(settings, MutableMapping):
        raise UsageError(f"{name}: not an object; add the entry by hand")
    return settings


def format_settings(settings: Mapping[str, object], *, is_toml: bool) -> str:
    """Return the text of a settings file."""
    if is_toml:
        return tomlkit.dumps(settings)
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
