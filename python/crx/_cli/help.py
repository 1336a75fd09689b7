"""`crx help`: topics that concern several commands, printed from the code itself."""

from __future__ import annotations

import difflib
import os
import textwrap
from collections.abc import Callable
from pathlib import Path

import click

from crx import registry
from crx._cli import COMMANDS, HELP_OPTIONS, INTERRUPTED, cli
from crx._cli.filters import HELP as FILTERS
from crx._cli.output import print_line, print_text
from crx._cli.tables import fit_table, format_table
from crx._cli.value_completion import beginning
from crx._index.nearest_index import FOLDER
from crx._models.store import search_path
from crx.config import ENVIRONMENT, PROJECT_FILE, Description, describe, project_file, user_file
from crx.errors import UsageError

# Columns of the list of settings, whose longest default would make a table far wider.
_SETTINGS_COLUMNS = 80
_INDENT = "    "
# What each exit code means, in a line of a terminal; the site lists the exceptions of each.
_EXIT_CODES = {
    0: "done, or stopped at the budget that was given",
    1: 'nothing was found, or a bound of "crx eval gate" was missed',
    2: "a command, a setting or a path is wrong, or there is no index",
    3: "some or all files could not be read, or chunks did not get their context",
    4: "the index or a bundle is damaged, or does not fit what is asked for",
    5: "another process is writing to the index",
    6: "disk or memory is full, or a call of the operating system failed",
    7: "a model is missing or damaged, or it or its service failed",
    INTERRUPTED: "interrupted; the same command resumes",
}


def _complete_topic(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the topics and commands whose names begin so."""
    return beginning([*TOPICS, *COMMANDS], incomplete)


@click.command()
@click.argument("topic", required=False, shell_complete=_complete_topic)
def command(*, topic: str | None) -> None:
    """Explain TOPIC, or list the topics.

    TOPIC is settings, exit-codes, files, models, environment, filters, or a command.
    """
    if topic is None:
        print_line("crx help TOPIC explains:")
        print_text(fit_table([[name, about] for name, (about, _) in TOPICS.items()]))
        print_line('and every command, as "crx COMMAND --help" does: ' + ", ".join(COMMANDS))
    elif topic in TOPICS:
        print_text(TOPICS[topic][1]())
    elif topic in COMMANDS:
        _print_command(topic)
    else:
        near = difflib.get_close_matches(topic, [*TOPICS, *COMMANDS], n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f'{topic}: no such topic or command; {hint}"crx help" lists them')


def _print_command(name: str) -> None:
    parent = click.Context(cli, info_name="crx", help_option_names=list(HELP_OPTIONS))
    found = cli.get_command(parent, name)
    assert found is not None
    print_text(found.get_help(click.Context(found, info_name=name, parent=parent)))


def _settings() -> str:
    """Return every setting with its default and meaning."""
    fixed = ", ".join(each.name for each in describe() if each.scope == "index")
    return "\n".join(
        [
            "A setting has a name, a default and a meaning:",
            "",
            *(_describe_setting(each) for each in describe()),
            "",
            textwrap.fill(f"Fixed when an index is made: {fixed}.", _SETTINGS_COLUMNS),
            "An index is opened with its own; variables and files count for new indexes.",
            "",
            "A value is looked up in this order: an option or --set NAME=VALUE; the variable",
            f"CRX_ and the name, as in CRX_RRF_K; {PROJECT_FILE} here or above; the",
            'user\'s settings file; the default. "crx config" prints the values in effect and',
            f"where they come from. A {PROJECT_FILE} may choose models, URLs and prompts once it",
            'is trusted ("crx trust").',
        ]
    )


def _describe_setting(setting: Description) -> str:
    """Return a setting with its default, and its meaning on the lines below."""
    default = str(setting.default) or '""'
    head = f"{setting.name} = {default}"
    return "\n".join(
        (
            textwrap.fill(
                head, _SETTINGS_COLUMNS, subsequent_indent=_INDENT, break_on_hyphens=False
            ),
            textwrap.fill(
                setting.help, _SETTINGS_COLUMNS, initial_indent=_INDENT, subsequent_indent=_INDENT
            ),
        )
    )


def _exit_codes() -> str:
    """Return every exit code and what it means."""
    return format_table([[str(code), meaning] for code, meaning in _EXIT_CODES.items()])


def _files() -> str:
    """Return the files and folders that crx reads and writes, as they are on this machine."""
    user = user_file(os.environ)
    project = project_file(Path.cwd())
    rows = [
        ["index", f"{FOLDER} here or above; crx.db in it is the only truth, derived/ is rebuilt"],
        ["settings of the user", str(user)],
        ["settings of the project", str(project or f"{PROJECT_FILE} here or above")],
        ["trusted project files", str(user.with_name("trusted"))],
        ["key that seals derived files", str(user.with_name("seal.key"))],
        *([["models" if n == 0 else "", str(folder)] for n, folder in enumerate(search_path())]),
    ]
    return fit_table(rows)


def _models() -> str:
    """Return how models are named, kind by kind."""
    text = (registry.__doc__ or "").strip()
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    table = fit_table([[cell.strip().replace("`", "") for cell in row] for row in rows])
    return "\n".join(
        [
            "Models are named by specifications:",
            "",
            table,
            "",
            "Options follow the last colon, as in minilm:device=cuda. Any other name is that of a",
            'model in the store or of a plugin. "crx models" lists the store.',
        ]
    )


def _environment() -> str:
    """Return every environment variable with its meaning."""
    rows = [[each.name, each.help] for each in ENVIRONMENT]
    settings = [[f"CRX_{each.field.upper()}", f"setting {each.name}"] for each in describe()]
    return fit_table([*rows, *settings])


TOPICS: dict[str, tuple[str, Callable[[], str]]] = {
    "settings": ("every setting, its default and where values come from", _settings),
    "exit-codes": ("what the exit codes mean", _exit_codes),
    "files": ("the files and folders that crx uses", _files),
    "models": ("how embedders, rerankers and language models are named", _models),
    "environment": ("the environment variables", _environment),
    "filters": ("how --where is written", lambda: FILTERS),
}
