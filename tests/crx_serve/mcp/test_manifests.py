"""The manifests of the registry of MCP servers and of Claude Code."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from crx._cli import cli

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / "examples" / "claude-code"


def read(path: Path) -> dict[str, Any]:
    loaded = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def parse(arguments: list[str]) -> None:
    """Parse a command line of `crx mcp`; raises what crx would say of it."""
    name, command, rest = cli.resolve_command(click.Context(cli), arguments)
    assert command is not None
    command.make_context(name, rest)


def test_the_description_for_the_registry_starts_this_version() -> None:
    manifest = read(ROOT / "server.json")
    (package,) = manifest["packages"]
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", manifest["name"])
    assert 1 <= len(manifest["description"]) <= 100
    assert {manifest["version"], package["version"]} == {version("crx")}
    assert [each["value"] for each in package["runtimeArguments"]] == [
        f"crx[mcp]=={version('crx')}"
    ]
    words = [each.get("value") or each["name"] for each in package["packageArguments"]]
    parse([*words, "notes.crx"])


def test_the_plugin_of_claude_code_starts_the_server_and_is_listed() -> None:
    (server,) = read(PLUGIN / ".mcp.json")["mcpServers"].values()
    assert server["command"] == "crx"
    parse(server["args"])
    manifest = read(PLUGIN / ".claude-plugin" / "plugin.json")
    assert manifest["version"] == version("crx")
    (listed,) = read(ROOT / ".claude-plugin" / "marketplace.json")["plugins"]
    assert (ROOT / listed["source"]) == PLUGIN
    assert listed["name"] == manifest["name"]


def test_the_skill_names_tools_that_exist() -> None:
    text = (PLUGIN / "skills" / "search-documents" / "SKILL.md").read_text(encoding="utf-8")
    front = re.match(r"---\nname: ([a-z-]+)\ndescription: .+\n---\n", text)
    assert front is not None
    assert front[1] == "search-documents"
    guide = (ROOT / "docs" / "guides" / "mcp.md").read_text(encoding="utf-8")
    assert {"search", "fetch", "status"} <= set(re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE))
