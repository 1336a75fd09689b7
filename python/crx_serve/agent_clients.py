"""Agents on this machine: what each is given so that it searches with crx, and what takes it back.

An agent is given the entry of the MCP server in its settings, a short instruction in the file of
instructions that it reads, and, if it runs hooks, one that refreshes the index after an edit. What
its files held before is kept beside the user's settings of crx: a file that nobody changed since
is restored byte by byte, and from any other only what crx put there is taken out.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from crx.config.files import replace_bytes
from crx.errors import UsageError
from crx.workers.child import script_command
from crx_serve.mcp.clients import (
    CLIENTS,
    SERVER_NAME,
    McpClient,
    ServerCommand,
    format_settings,
    parse_settings,
    with_entry,
)

# What a file is made to hold.
_Edit: TypeAlias = Callable[[bytes], bytes]
# The tools of Claude Code after which the hook runs.
_MATCHER = "Edit|MultiEdit|Write"
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
    """The files in the user's folder of an agent that is one of `CLIENTS`.

    It is there if one of `signs` is. `settings` has servers as the file of the client has.
    `hooks` is a file of hooks as Claude Code reads them, "" for an agent without any.
    """

    client: McpClient
    signs: tuple[str, ...]
    settings: str
    instructions: str = ""
    hooks: str = ""


AGENTS = {
    "claude": AgentClient(
        CLIENTS["claude"],
        (".claude", ".claude.json"),
        ".claude.json",
        instructions=".claude/CLAUDE.md",
        hooks=".claude/settings.json",
    ),
    "codex": AgentClient(CLIENTS["codex"], (".codex",), ".codex/config.toml", ".codex/AGENTS.md"),
    "cursor": AgentClient(CLIENTS["cursor"], (".cursor",), ".cursor/mcp.json"),
    "gemini": AgentClient(
        CLIENTS["gemini"], (".gemini",), ".gemini/settings.json", ".gemini/GEMINI.md"
    ),
    "opencode": AgentClient(
        CLIENTS["opencode"],
        (".config/opencode",),
        ".config/opencode/opencode.json",
        ".config/opencode/AGENTS.md",
    ),
    "vscode": AgentClient(CLIENTS["vscode"], (".config/Code/User",), ".config/Code/User/mcp.json"),
    "windsurf": AgentClient(
        CLIENTS["windsurf"],
        (".codeium/windsurf",),
        ".codeium/windsurf/mcp_config.json",
        ".codeium/windsurf/memories/global_rules.md",
    ),
    "zed": AgentClient(CLIENTS["zed"], (".config/zed",), ".config/zed/settings.json"),
}


class Kept(Struct, frozen=True, kw_only=True):
    """What a file held before crx wrote it, None without one, what crx wrote, and new folders."""

    before: bytes | None
    after: bytes | None
    folders: list[str]


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
    home: Path, names: Sequence[str], server: ServerCommand, *, hook: str
) -> tuple[list[Change], list[str]]:
    """Return the changes that give agents a server, and why some have none.

    `hook` is the command of a shell that refreshes the index. A file that already holds what it
    should is no change.
    """
    changes: list[Change] = []
    refused: list[str] = []
    for name in names:
        agent = AGENTS[name]
        edits: dict[str, _Edit] = {
            agent.settings: partial(
                with_entry,
                client=agent.client,
                entry=server.entry(agent.client),
                name=agent.settings,
            ),
            agent.instructions: _with_instruction,
            agent.hooks: partial(_with_hook, command=hook, name=agent.hooks),
        }
        try:
            changes += _plan_edits(home, name, edits, action="write")
        except UsageError as error:
            refused.append(f"{agent.client.title}: {error}")
    return changes, refused


def plan_uninstall(home: Path, names: Sequence[str], record: Path) -> list[Change]:
    """Return the changes that take back what was installed; see the top of this module."""
    kept = _read_record(record)
    changes: list[Change] = []
    for name in names:
        agent = AGENTS[name]
        edits: dict[str, _Edit] = {
            agent.settings: partial(_without_entry, client=agent.client),
            agent.instructions: _without_instruction,
            agent.hooks: _without_hook,
        }
        for change in _plan_edits(home, name, edits, action="edit"):
            known = kept.get(str(change.path))
            if known is None or known.after != _read(change.path):
                changes.append(change)
            elif known.before is None:
                changes.append(Change(name, change.path, "remove", None))
            else:
                changes.append(Change(name, change.path, "restore", known.before))
    return changes


def _plan_edits(
    home: Path, name: str, edits: Mapping[str, _Edit], *, action: Action
) -> list[Change]:
    """Return the changes of the files that an agent has and that are not as the edits make them."""
    changes = []
    for file, edit in edits.items():
        path = home / file
        before = _read(path) if file else None
        if file and (before is not None or action == "write"):
            after = edit(before or b"")
            if after != before:
                changes.append(Change(name, path, action, after))
    return changes


def apply_changes(changes: Sequence[Change], record: Path, *, home: Path) -> None:
    """Make the changes, and record what files held before the first of crx's."""
    earlier = _read_record(record)
    kept = dict(earlier)
    for change in changes:
        known = kept.pop(str(change.path), None)
        if change.action == "write":
            before = _read(change.path)
            # What an earlier installation wrote is not what the file held before.
            is_ours = known is not None and before == known.after
            kept[str(change.path)] = Kept(
                before=known.before if known and is_ours else before,
                after=change.content,
                folders=known.folders if known and is_ours else _missing_folders(change.path, home),
            )
    # First what can be taken back, then what is to be taken back.
    if any(change.action == "write" for change in changes):
        _write_record(record, kept)
    for change in changes:
        if change.content is not None:
            replace_bytes(change.path.resolve(), change.content)
        else:
            change.path.unlink()
        known = earlier.get(str(change.path))
        if known is not None and change.action != "write":
            _remove_empty(map(Path, known.folders))
    _write_record(record, kept)


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


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


def _read_record(record: Path) -> dict[str, Kept]:
    data = _read(record)
    try:
        return msgspec.json.decode(data, type=dict[str, Kept]) if data else {}
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{record}: is damaged ({error}); delete it, and what files held before is not restored"
        ) from None


def _write_record(record: Path, kept: Mapping[str, Kept]) -> None:
    """Write the record, for its user alone: settings of agents may hold secrets."""
    if not kept:
        record.unlink(missing_ok=True)
        return
    record.parent.mkdir(parents=True, exist_ok=True)
    if not record.exists():
        os.close(os.open(record, os.O_CREAT | os.O_WRONLY, 0o600))
    replace_bytes(record, msgspec.json.encode(kept))


def _without_entry(data: bytes, client: McpClient) -> bytes:
    try:
        settings = parse_settings(data, is_toml=client.is_toml, name="")
    except UsageError:  # nothing that crx can have written
        return data
    servers = settings.get(client.key)
    if not isinstance(servers, MutableMapping) or servers.pop(SERVER_NAME, None) is None:
        return data
    return format_settings(settings, is_toml=client.is_toml).encode()


def _with_instruction(data: bytes) -> bytes:
    text = _without_instruction(data).decode("utf-8", "surrogateescape")
    gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}{_INSTRUCTION}".encode("utf-8", "surrogateescape")


def _without_instruction(data: bytes) -> bytes:
    head, begin, rest = data.partition(_BEGIN.encode())
    if not begin:
        return data
    return head + rest.partition(_END.encode())[2].removeprefix(b"\n")


def _with_hook(data: bytes, command: str, name: str) -> bytes:
    settings = parse_settings(data, is_toml=False, name=name)
    hooks = settings.setdefault("hooks", {})
    after_tools = hooks.setdefault("PostToolUse", []) if isinstance(hooks, dict) else None
    if not isinstance(after_tools, list):
        raise UsageError(f'{name}: "hooks" has no list "PostToolUse"; add the hook by hand')
    own = {"matcher": _MATCHER, "hooks": [{"type": "command", "command": command}]}
    if own in after_tools:
        return data
    hooks["PostToolUse"] = [*(each for each in after_tools if not _is_own_hook(each)), own]
    return format_settings(settings, is_toml=False).encode()


def _without_hook(data: bytes) -> bytes:
    try:
        settings = parse_settings(data, is_toml=False, name="")
    except UsageError:  # nothing that crx can have written
        return data
    match settings:
        case {"hooks": {"PostToolUse": [*after_tools]}} if any(map(_is_own_hook, after_tools)):
            others = [each for each in after_tools if not _is_own_hook(each)]
            settings["hooks"]["PostToolUse"] = others
        case _:
            return data
    return format_settings(settings, is_toml=False).encode()


def _is_own_hook(hook: Any) -> bool:
    """Return whether a hook is one that `_with_hook` has written, of whichever index."""
    match hook:
        case {"matcher": str(matcher), "hooks": [{"command": str(command)}]}:
            return matcher == _MATCHER and _is_own_command(command)
    return False


def hook_command(program: Sequence[str], *, index: str, environment: Mapping[str, str]) -> str:
    """Return the command of a shell that refreshes an index."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    words = (*program, "index", "--index", index, "--quiet")
    return shlex.join((*(("env", *variables) if variables else ()), *words))


def _is_own_command(command: str) -> bool:
    """Return whether `hook_command` makes such a command."""
    try:
        *program, verb, option, _, quiet = shlex.split(command)
    except ValueError:
        return False
    is_crx = bool(program) and (
        Path(program[-1]).name in ("crx", "crx.exe") or program[-1] == script_command("crx")[-1]
    )
    return is_crx and (verb, option, quiet) == ("index", "--index", "--quiet")
