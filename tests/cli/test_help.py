"""Help, completion, and the commands that the documents name."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from command_line import Crx, run_process

from crx import errors
from crx._cli import COMMANDS, cli
from crx._cli.completion import SHELLS
from crx._cli.help import TOPICS
from crx.config import ENVIRONMENT, describe

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


@pytest.mark.parametrize(
    "words",
    [
        words
        for words, command in commands()
        if isinstance(command, click.Group) and command.no_args_is_help
    ],
    ids=" ".join,
)
def test_a_command_of_commands_alone_shows_its_help(crx: Crx, words: tuple[str, ...]) -> None:
    done = crx(*words)
    helped = crx(*words, "--help")
    assert (done.code, done.err, done.out) == (2, "", helped.out)


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


def test_no_list_of_commands_is_cut_off(crx: Crx) -> None:
    for words in ((), ("models",), ("config",), ("eval",)):
        assert "..." not in crx(*words, "--help").out.partition("Commands:")[2]


def test_every_option_of_every_command_says_what_it_does() -> None:
    silent = [
        (words, option.name)
        for words, command in commands()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert silent == []


def test_the_settings_fit_into_80_columns(crx: Crx) -> None:
    assert max(map(len, crx("help", "settings").out.splitlines())) <= 80


def test_each_exit_code_is_a_line_of_a_terminal(crx: Crx) -> None:
    lines = crx("help", "exit-codes").out.splitlines()
    assert max(map(len, lines)) <= 80
    failures = [each for each in vars(errors).values() if isinstance(each, type)]
    codes = {each.exit_code for each in failures if issubclass(each, errors.CrxError)}
    assert codes <= {int(line.split()[0]) for line in lines}
    assert "context" in next(line for line in lines if line.startswith("3 "))


@pytest.mark.parametrize(
    ("topic", "parts"),
    [
        ("settings", [f"\n{each.name} " for each in describe()]),
        ("exit-codes", [f"\n{code} " for code in (1, 2, 3, 4, 5, 6, 7, 130)]),
        ("files", ["crx.toml", "seal.key", "trusted", "config.toml"]),
        ("models", ["llama:PATH", "onnx:FOLDER", "openvino:minilm"]),
        ("environment", [each.name for each in ENVIRONMENT] + ["CRX_RANK_FUSION_RRF_K"]),
        ("filters", ["lang=en,fr", "year>=2020", "ext=pdf", "type=markdown"]),
        ("search", ["Usage: crx search [OPTIONS] QUERY...", "--where"]),
    ],
)
def test_help_explains_a_topic_from_the_code(crx: Crx, topic: str, parts: list[str]) -> None:
    done = crx("help", topic)
    assert (done.code, done.err) == (0, "")
    assert [part for part in parts if part not in done.out] == []


def test_help_lists_its_topics_and_names_the_nearest(crx: Crx) -> None:
    listed = crx("help").out
    assert [name for name in (*TOPICS, *COMMANDS) if name not in listed] == []
    done = crx("help", "enviroment")
    assert (done.code, done.out) == (2, "")
    assert "did you mean environment?" in done.err


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_prints_the_script_that_the_shell_evaluates(shell: str) -> None:
    done = run_process("completion", shell)
    asked = run_process(env={"_CRX_COMPLETE": f"{shell}_source"})
    assert (done.code, done.err, done.out) == (0, "", asked.out)
    assert "_CRX_COMPLETE" in done.out


def test_a_shell_gets_commands_and_options_to_complete() -> None:
    def complete(words: str, at: int) -> list[str]:
        asking = {"_CRX_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        return run_process(env=asking).out.splitlines()

    assert complete("crx sea", 1) == ["plain,search"]
    assert complete("crx search --re", 2) == [
        "plain,--regex",
        "plain,--rerank",
        "plain,--rerank-ms",
    ]
    assert complete("crx models re", 2) == ["plain,remove"]
    assert complete("crx config set rank.fusion.r", 3) == ["plain,rank.fusion.rrf_k"]
    assert complete("crx search --set rank.fusion.r", 3) == ["plain,rank.fusion.rrf_k="]
    assert complete("crx help envi", 2) == ["plain,environment"]
    assert "plain,crx" in complete("crx models verify c", 3)
    assert complete("crx show docs/a", 2) == ["file,docs/a"]
    assert complete("crx search a", 2) == ["plain,after:"]
    assert complete("crx ask what f", 3) == ["plain,from:"]


@pytest.mark.usefixtures("docs")
def test_a_shell_gets_the_paths_of_a_field(here: Path) -> None:
    def complete(word: str) -> list[str]:
        asking = {
            "_CRX_COMPLETE": "zsh_complete",
            "COMP_WORDS": f"crx search krill {word}",
            "COMP_CWORD": "3",
        }
        return run_process(env=asking).out.splitlines()[1::3]

    assert complete("path:d") == ["path:docs/"]
    assert complete("path:docs/") == ["path:docs/bread.md", "path:docs/whales.md"]
    assert complete("path:nowhere/") == []


@pytest.mark.usefixtures("docs")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("path : d", ["docs/"]),
        ("path : docs/", ["docs/bread.md", "docs/whales.md"]),
        ("path :", ["docs/"]),
        ("path:d", ["path:docs/"]),
        ("a : af", ["after:"]),
    ],
)
def test_bash_which_splits_at_colons_gets_what_is_behind_them(words: str, found: list[str]) -> None:
    line = f"crx search krill {words}"
    at = str(len(line.split()) - 1)
    asking = {"_CRX_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": at}
    assert run_process(env=asking).out.splitlines() == [f"plain,{each}" for each in found]


def test_bash_puts_no_blank_behind_a_field_and_a_folder() -> None:
    script = run_process("completion", "bash").out
    assert "[[ $value == *[:/=] ]] && compopt -o nospace" in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_evaluates_the_script(tmp_path: Path) -> None:
    script = tmp_path / "crx.bash"
    script.write_text(run_process("completion", "bash").out)
    command = ["bash", "--norc", "-c", f"source {script}; complete -p crx"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_crx_completion" in done.stdout


@pytest.mark.parametrize("text", ["-x of a matrix", "--what is it", "-5 degrees"])
def test_a_query_that_begins_with_a_dash_needs_two_dashes(
    crx: Crx, indexed: Path, text: str
) -> None:
    done = crx("search", text)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(
        f"""; put "--" before a text that begins with "-": crx search -- '{text}'\n"""
    )
    assert crx("search", "--", text).code == 0
    assert """crx ask -- '""" in crx("ask", text).err
    assert crx("search", "krill", "--nonsense").err.endswith("crx search -- --nonsense\n")
    assert crx("search", "-xrf", "option", "k v").err.endswith("-- -xrf option 'k v'\n")
    assert crx("search", "-xrf", "option", "--json").err.endswith("crx search -- -xrf\n")
