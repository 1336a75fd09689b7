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

from crx.config import replace_text
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
    whether an entry names its transport.
    """

    title: str
    file: str
    key: str
    is_typed: bool = False

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
    return _format(client, {client.key: {SERVER_NAME: entry}})


def merge_settings(path: Path, client: McpClient, entry: Mapping[str, object]) -> Merged:
    """Put the entry into a settings file, whose other content stays; returns what was done.

    Comments of TOML stay. Raises `UsageError` if the file is not plain JSON, as with comments in
    it, which would be lost, or not TOML.
    """
    target = path.resolve()
    settings = _read(target, client) if target.is_file() else {}
    servers = settings.setdefault(client.key, {})
    if not isinstance(servers, MutableMapping):
        raise UsageError(f'{path}: "{client.key}" is not an object; add the entry by hand')
    before = servers.get(SERVER_NAME)
    if before == entry:
        return "unchanged"
    servers[SERVER_NAME] = dict(entry)
    replace_text(target, _format(client, settings))
    return "added" if before is None else "replaced"


def _read(path: Path, client: McpClient) -> MutableMapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        settings = tomlkit.parse(text) if client.is_toml else json.loads(text or "{}")
    except (ValueError, TOMLKitError) as error:
        kind = "TOML" if client.is_toml else "plain JSON"
        raise UsageError(f"{path}: not {kind} ({error}); add the entry by hand") from None
    if not isinstance(settings, MutableMapping):
        raise UsageError(f"{path}: not an object; add the entry by hand")
    return settings


def _format(client: McpClient, settings: Mapping[str, object]) -> str:
    if client.is_toml:
        return tomlkit.dumps(settings)
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
