"""Agents on this machine: what each is given so that it searches with crx, and what takes it back.

An agent is given the entry of the MCP server in its settings, a short instruction in the file of
instructions that it reads, and, if it runs hooks, one that refreshes the index after an edit. What
its files held before is kept beside the user's settings of crx: a file that nobody changed since
is restored byte by byte, and from any other only what crx put there is taken out.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import orjson
import tomlkit
from tomlkit.exceptions import TOMLKitError

from crx.config.files import replace_bytes
from crx.errors import UsageError

NAME = "crx"
_BEGIN, _END = "<!-- crx: begin -->", "<!-- crx: end -->"
_INSTRUCTION = f"""{_BEGIN}
Search this machine's indexed files with the crx MCP tools before reading whole files: `search` for
words, questions and error messages (`match=literal` for every line with a text), `references` for
the callers and tests of a name, `outline` for the definitions of a file.
{_END}
"""

Action = Literal["write", "restore", "remove", "edit"]


@dataclass(frozen=True, slots=True)
class AgentClient:
    """An agent, and its files in the user's folder.

    It is there if one of `signs` is. `key` is the object of `settings` that holds servers by name.
    `is_one_list` says whether program and arguments are one list there. `hooks` is a file of hooks
    as Claude Code reads them, "" for an agent without any.
    """

    title: str
    signs: tuple[str, ...]
    settings: str
    key: str
    instructions: str = ""
    hooks: str = ""
    is_typed: bool = False
    is_one_list: bool = False


AGENTS = {
    "claude": AgentClient(
        "Claude Code",
        (".claude", ".claude.json"),
        ".claude.json",
        "mcpServers",
        instructions=".claude/CLAUDE.md",
        hooks=".claude/settings.json",
        is_typed=True,
    ),
    "codex": AgentClient(
        "Codex", (".codex",), ".codex/config.toml", "mcp_servers", ".codex/AGENTS.md"
    ),
    "cursor": AgentClient("Cursor", (".cursor",), ".cursor/mcp.json", "mcpServers"),
    "gemini": AgentClient(
        "Gemini CLI", (".gemini",), ".gemini/settings.json", "mcpServers", ".gemini/GEMINI.md"
    ),
    "opencode": AgentClient(
        "opencode",
        (".config/opencode",),
        ".config/opencode/opencode.json",
        "mcp",
        ".config/opencode/AGENTS.md",
        is_one_list=True,
    ),
    "vscode": AgentClient(
        "Visual Studio Code",
        (".config/Code/User",),
        ".config/Code/User/mcp.json",
        "servers",
        is_typed=True,
    ),
    "windsurf": AgentClient(
        "Windsurf",
        (".codeium/windsurf",),
        ".codeium/windsurf/mcp_config.json",
        "mcpServers",
        ".codeium/windsurf/memories/global_rules.md",
    ),
    "zed": AgentClient("Zed", (".config/zed",), ".config/zed/settings.json", "context_servers"),
}


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a file: `content` is its new bytes, None if it goes."""

    agent: str
    path: Path
    action: Action
    content: bytes | None


def found_agents(home: Path) -> list[str]:
    """Return the names of the agents that have a folder or a file in the user's folder."""
    return [
        name
        for name, agent in AGENTS.items()
        if any((home / sign).exists() for sign in agent.signs)
    ]


def plan_install(
    home: Path, names: Sequence[str], words: Sequence[str], *, index: str
) -> tuple[list[Change], list[str]]:
    """Return the changes that give agents the server of these words, and why some have none.

    A file that already holds what it should is no change.
    """
    changes: list[Change] = []
    refused: list[str] = []
    for name in names:
        agent = AGENTS[name]
        edits: list[tuple[str, Callable[[bytes], bytes]]] = [
            (agent.settings, partial(_with_server, agent=agent, words=words))
        ]
        if agent.instructions:
            edits.append((agent.instructions, _with_instruction))
        if agent.hooks:
            command = shlex.join([words[0], "index", "--index", index, "--quiet"])
            edits.append((agent.hooks, partial(_with_hook, command=command)))
        own: list[Change] = []
        try:
            for file, edit in edits:
                path = home / file
                before = _read(path)
                after = edit(before or b"")
                if after != before:
                    own.append(Change(name, path, "write", after))
        except UsageError as error:
            refused.append(f"{agent.title}: {error}")
            continue
        changes += own
    return changes, refused


def plan_uninstall(home: Path, names: Sequence[str], record: Path) -> list[Change]:
    """Return the changes that take back what was installed; see the top of this module."""
    kept = _read_record(record)
    changes: list[Change] = []
    for name in names:
        agent = AGENTS[name]
        for file in filter(None, (agent.settings, agent.instructions, agent.hooks)):
            path = home / file
            now = _read(path)
            if now is None:
                continue
            known = kept.get(str(path))
            if known and base64.b64decode(known["after"]) == now:
                before = None if known["before"] is None else base64.b64decode(known["before"])
                action: Action = "remove" if before is None else "restore"
                changes.append(Change(name, path, action, before))
                continue
            after = _without_ours(now, path, agent)
            if after != now:
                changes.append(Change(name, path, "edit", after))
    return changes


def apply_changes(changes: Sequence[Change], record: Path, *, home: Path) -> None:
    """Make the changes, and record what files held before the first of crx's."""
    kept = _read_record(record)
    for change in changes:
        before = _read(change.path)
        known = kept.pop(str(change.path), None)
        if change.action == "write":
            # What an earlier installation wrote is not what the file held before.
            is_ours = known and before == base64.b64decode(known["after"])
            original = known["before"] if known and is_ours else _encode(before)
            folders = known["folders"] if known and is_ours else _missing_folders(change.path, home)
            kept[str(change.path)] = {
                "before": original,
                "after": _encode(change.content),
                "folders": folders,
            }
    # First what can be taken back, then what is to be taken back.
    if any(change.action == "write" for change in changes):
        _write_record(record, kept)
    earlier = _read_record(record)
    for change in changes:
        if change.content is not None:
            replace_bytes(change.path.resolve(), change.content)
        else:
            change.path.unlink()
        if change.action != "write":
            for folder in earlier.get(str(change.path), {}).get("folders", []):
                if Path(folder).is_dir() and not any(Path(folder).iterdir()):
                    Path(folder).rmdir()
    _write_record(record, kept)


def _missing_folders(path: Path, home: Path) -> list[str]:
    """Return the folders above a file that are not there yet, the innermost first."""
    return [str(each) for each in path.parents if home in each.parents and not each.exists()]


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def _encode(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _read_record(record: Path) -> dict[str, Any]:
    data = _read(record)
    kept: dict[str, Any] = orjson.loads(data) if data else {}
    return kept


def _write_record(record: Path, kept: Mapping[str, Any]) -> None:
    """Write the record, for its user alone: settings of agents may hold secrets."""
    if not kept:
        record.unlink(missing_ok=True)
        return
    record.parent.mkdir(parents=True, exist_ok=True)
    if not record.exists():
        os.close(os.open(record, os.O_CREAT | os.O_WRONLY, 0o600))
    replace_bytes(record, orjson.dumps(kept))


def _entry(agent: AgentClient, words: Sequence[str]) -> dict[str, Any]:
    if agent.is_one_list:
        return {"type": "local", "command": [*words], "enabled": True}
    typed = {"type": "stdio"} if agent.is_typed else {}
    return {**typed, "command": words[0], "args": [*words[1:]]}


def _with_server(data: bytes, agent: AgentClient, words: Sequence[str]) -> bytes:
    settings = _parse(data, agent.settings)
    servers = settings.setdefault(agent.key, {})
    if not isinstance(servers, dict):
        raise UsageError(f'{agent.settings}: "{agent.key}" is no object; add the entry by hand')
    if servers.get(NAME) == _entry(agent, words):
        return data
    servers[NAME] = _entry(agent, words)
    return _format(settings, agent.settings)


def _with_instruction(data: bytes) -> bytes:
    text = _without_block(data.decode("utf-8", "surrogateescape"))
    gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}{_INSTRUCTION}".encode("utf-8", "surrogateescape")


def _with_hook(data: bytes, command: str) -> bytes:
    settings = _parse(data, "hooks")
    hooks = settings.setdefault("hooks", {}).setdefault("PostToolUse", [])
    own = {"matcher": "Edit|MultiEdit|Write", "hooks": [{"type": "command", "command": command}]}
    if own in hooks:
        return data
    hooks[:] = [each for each in hooks if not _is_own_hook(each)]
    hooks.append(own)
    return _format(settings, ".json")


def _is_own_hook(hook: Any) -> bool:
    commands = [each.get("command", "") for each in hook.get("hooks", [])]
    return any(" index --index " in each and "crx" in each for each in commands)


def _without_ours(data: bytes, path: Path, agent: AgentClient) -> bytes:
    """Return the bytes of a file without what crx put there, as they are if there is nothing."""
    if path.suffix == ".md":
        text = data.decode("utf-8", "surrogateescape")
        return _without_block(text).encode("utf-8", "surrogateescape")
    try:
        settings = _parse(data, path.name)
    except UsageError:  # nothing that crx can have written
        return data
    before = len(str(settings))
    if isinstance(settings.get(agent.key), dict):
        settings[agent.key].pop(NAME, None)
    hooks = settings.get("hooks")
    if path.name == Path(agent.hooks).name and isinstance(hooks, dict) and "PostToolUse" in hooks:
        hooks["PostToolUse"] = [one for one in hooks["PostToolUse"] if not _is_own_hook(one)]
    return data if len(str(settings)) == before else _format(settings, path.name)


def _without_block(text: str) -> str:
    head, begin, rest = text.partition(_BEGIN)
    if not begin:
        return text
    return head + rest.partition(_END)[2].removeprefix("\n")


def _parse(data: bytes, name: str) -> dict[str, Any]:
    try:
        text = data.decode("utf-8")
        if name.endswith(".toml"):
            return tomlkit.parse(text)
        settings = json.loads(text) if text.strip() else {}
    except (ValueError, TOMLKitError) as error:
        kind = "TOML" if name.endswith(".toml") else "plain JSON"
        raise UsageError(f"{name}: not {kind} ({error}); add the entry by hand") from None
    if not isinstance(settings, dict):
        raise UsageError(f"{name}: not an object; add the entry by hand")
    return settings


def _format(settings: Mapping[str, Any], name: str) -> bytes:
    if name.endswith(".toml"):
        return tomlkit.dumps(settings).encode()
    return (json.dumps(settings, indent=2, ensure_ascii=False) + "\n").encode()
