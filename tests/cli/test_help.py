"""Help, completion, and the commands that the documents name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from command_line import Crx

from crx.cli import COMMANDS, cli

ROOT = Path(__file__).parents[2]


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command with the words that call it."""
    context = click.Context(cli)
    for verb in COMMANDS:
        command = cli.get_command(context, verb)
        assert command is not None
        yield (verb,), command
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                yield (verb, name), below


@pytest.mark.parametrize("words", [(), *(words for words, _ in commands())], ids=" ".join)
def test_every_command_has_help(crx: Crx, words: tuple[str, ...]) -> None:
    done = crx(*words, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(" ".join(("Usage: crx", *words)))


def shown_commands() -> list[tuple[str, str]]:
    """Return (document, command line) for every `crx ...` in the documents' code."""
    found = []
    for name in ("README.md", "ARCHITECTURE.md"):
        text = (ROOT / name).read_text(encoding="utf-8") if (ROOT / name).is_file() else ""
        blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
        lines += re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
        found += [(name, line) for line in lines if re.match(r"crx [a-z]", line)]
    return found


def test_the_documents_name_only_commands_and_options_that_exist() -> None:
    known = dict(commands())
    for name, line in shown_commands():
        words = shlex.split(line, comments=True)[1:]
        command = known.get(tuple(words[:2])) or known.get(tuple(words[:1]))
        assert command is not None, f"{name}: {line}"
        flags = {flag for option in command.params for flag in option.opts} | {"--help"}
        for word in words:
            if word.startswith("--"):
                assert word.partition("=")[0] in flags, f"{name}: {line}"
