"""Reference pages made from the code: every command, every setting, every exit code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import Field, fields
from typing import Any

import click

from crx import errors
from crx._cli import INTERRUPTED, cli
from crx.config import ENVIRONMENT, Settings, describe

SCOPES = {
    "index": (
        "Fixed when the index is made",
        "An index keeps the value it was made with, and is opened with it: variables and settings "
        "files count for new indexes. A flag or `--set` that asks for another value is an error "
        "that names both; index into a new folder to change it.",
    ),
    "run": ("Read by every command", "These can differ from one command to the next."),
}
_TYPES = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def pages() -> dict[str, str]:
    """Return the generated pages as Markdown, by path below the site's root."""
    return {
        "reference/cli.md": cli_page(),
        "reference/settings.md": settings_page(),
        "reference/exit-codes.md": exit_codes_page(),
    }


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield each command by its full name, such as `crx eval run`, groups before their members."""
    yield from _walk("crx", cli, None)


def cli_page() -> str:
    """Return the page of the command line."""
    parts = [
        "# Command line",
        "Answers go to standard output, everything else to standard error. Most commands take "
        "`--json`. [Exit codes](exit-codes.md) and [settings](settings.md) have pages of their "
        "own.",
        *(_command(name, command, context) for name, command, context in commands()),
    ]
    return "\n\n".join(parts) + "\n"


def settings_page() -> str:
    """Return the page of settings and environment variables."""
    parts = [
        "# Settings",
        "A value is looked up in this order: a flag or `--set NAME=VALUE`, the environment "
        "variable `CRX_NAME`, `crx.toml` in the current folder or the nearest one above, "
        "`config.toml` in the user's configuration folder, `share/crx/config.toml` of the "
        "installation, which a bundle brings, the default. `crx config` prints each "
        "setting, its value and where the value comes from. A `crx.toml` may choose models, URLs "
        "and prompts once it is trusted: `crx trust`.",
    ]
    defaults = {field.name: field for field in fields(Settings)}
    for scope, (title, about) in SCOPES.items():
        names = [each for each in describe() if each.scope == scope]
        lines = [_setting(each.name, each.help, defaults[each.field]) for each in names]
        parts += [f"## {title}", about, "\n".join(lines)]
    variables = [_item(each.name, _escape(each.help)) for each in ENVIRONMENT]
    parts += [
        "## Environment variables",
        "Each setting has a variable. These are not settings:",
        "\n".join(variables),
    ]
    return "\n\n".join(parts) + "\n"


def exit_codes_page() -> str:
    """Return the page of exit codes, with the exceptions that lead to each."""
    rows = [
        (0, "Done, or stopped at the budget that was given."),
        (1, "Nothing was found, or a bound of `crx eval gate` was missed."),
    ]
    by_code: dict[int, list[str]] = {}
    for error in _subclasses(errors.CrxError):
        if error.exit_code:
            by_code.setdefault(error.exit_code, []).append(
                f"`crx.errors.{error.__name__}`: {_first_sentence(error)}"
            )
    rows += [(code, "<br>".join(lines)) for code, lines in sorted(by_code.items())]
    rows.append((INTERRUPTED, "Interrupted; the same command resumes."))
    lines = ["| code | meaning |", "|---:|---|", *(f"| {code} | {text} |" for code, text in rows)]
    return (
        "\n\n".join(
            [
                "# Exit codes",
                "Every failure is one line on standard error and one of these codes. In Python the "
                "same failures are [exceptions](python.md#errors) with an attribute `exit_code`.",
                "\n".join(lines),
            ]
        )
        + "\n"
    )


def _walk(
    name: str, command: click.Command, parent: click.Context | None
) -> Iterator[tuple[str, click.Command, click.Context]]:
    context = click.Context(command, info_name=name.rpartition(" ")[2], parent=parent)
    yield name, command, context
    if isinstance(command, click.Group):
        for member in command.list_commands(context):
            found = command.get_command(context, member)
            assert found is not None
            yield from _walk(f"{name} {member}", found, context)


def _command(name: str, command: click.Command, context: click.Context) -> str:
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    parts = [f"{'#' * (1 + len(name.split()))} {name}", f"```text\n{usage}\n```"]
    parts += _paragraphs(command.help or "")
    records = (parameter.get_help_record(context) for parameter in command.get_params(context))
    options = [
        _item(names, _escape(" ".join(help_text.split())))
        for names, help_text in filter(None, records)
        if help_text and "--help" not in names
    ]
    return "\n\n".join([*parts, "\n".join(options)]).rstrip()


def _paragraphs(help_text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; those that click leaves as they are become blocks."""
    for paragraph in inspect.cleandoc(help_text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            yield f"```text\n{paragraph.removeprefix(chr(8)).strip()}\n```"
        else:
            yield _escape(" ".join(paragraph.split()))


def _setting(name: str, help_text: str, field: Field[Any]) -> str:
    default = field.default
    facts = [_TYPES[type(default)], f"default `{default}`" if default != "" else "not set"]
    for bound in ("least", "most"):
        if (value := field.metadata[bound]) is not None:
            facts.append(f"at {bound} {value}")
    about = _escape(help_text.rstrip("."))
    return _item(name, f"{about}. ({', '.join(facts)})")


def _item(term: str, text: str) -> str:
    return f"- `{term}`: {text}"


def _escape(text: str) -> str:
    """Return plain text as Markdown that shows it."""
    return re.sub(r"([\\`*_\[\]<])", r"\\\1", text)


def _subclasses(error: type[errors.CrxError]) -> Iterator[type[errors.CrxError]]:
    for each in error.__subclasses__():
        if each.__module__ == errors.__name__:
            yield each
            yield from _subclasses(each)


def _first_sentence(error: type[errors.CrxError]) -> str:
    return " ".join((error.__doc__ or "").split()).partition(". ")[0].rstrip(".") + "."
