"""Options that several commands take, and where the index is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from crx._cli.progress import FORMS
from crx._cli.value_completion import complete_assignment, complete_model
from crx._index.nearest_index import nearest_index
from crx.errors import UsageError
from crx.plugins import is_engine_address

_Command = TypeVar("_Command", bound=Callable[..., Any])

_FILE = click.Path(path_type=Path)


index_option = click.option(
    "--index",
    "folder",
    metavar="DIR",
    help="Index folder; to search, also the URL of a database.  [default: CRX_INDEX, else the "
    "nearest .crx here or above]",
)

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the answer as one JSON value."
)

set_option = click.option(
    "--set",
    "assignments",
    metavar="NAME=VALUE",
    multiple=True,
    shell_complete=complete_assignment,
    help='Use another value of a setting in this run; repeatable. "crx config" lists them.',
)


def progress_options(command: _Command) -> _Command:
    """Add --progress and -q."""
    quiet = click.option("-q", "--quiet", "progress", flag_value="none", help="Show no progress.")
    form = click.option(
        "--progress",
        type=click.Choice(FORMS),
        default="auto",
        help="How progress is shown on stderr.  [default: a bar on a terminal; elsewhere plain "
        "lines, or JSON lines with --json]",
    )
    return form(quiet(command))


k_option = click.option(
    "-k", type=int, metavar="N", help="Chunks to find.  [default: the setting k, 20]"
)

where_option = click.option(
    "--where",
    "conditions",
    metavar="FIELD=VALUE",
    multiple=True,
    help="Search only documents that match, as in lang=en or path=docs; repeatable, all must "
    'hold. "crx help filters" explains them.  [default: all documents]',
)


def time_options(command: _Command) -> _Command:
    """Add --since and --before."""
    since = click.option(
        "--since",
        default="",
        metavar="DATE|30d",
        help="Search only files changed since a date, or in the last days (d), weeks (w), months "
        "(mo) or years (y).  [default: all]",
    )
    before = click.option(
        "--before",
        default="",
        metavar="DATE|30d",
        help="Search only files changed before that.  [default: all]",
    )
    return since(before(command))


answer_window_option = click.option(
    "--window",
    metavar="auto|grow|N",
    help='How chunks grow to passages, as in "crx search".  [default: auto]',
)

embedder_option = click.option(
    "--embedder",
    metavar="SPEC",
    shell_complete=complete_model,
    help="Embedder: a model's name, onnx:FOLDER, st:FOLDER, hashed, or none for BM25 alone. "
    "Fixed when the index is made.  [default: the setting embedder, e5@int8]",
)


def workers_options(command: _Command) -> _Command:
    """Add --workers and --on."""
    workers = click.option(
        "--workers",
        type=click.IntRange(min=0),
        metavar="N",
        help="Embed in N processes, which share the processors; the model is in memory N + 1 "
        "times. 0: in this process.  [default: the setting workers, 0]",
    )
    on = click.option(
        "--on",
        "workers_on",
        metavar="ray|ray://HOST:PORT",
        help="Embed in actors of a Ray cluster: that of this machine, which is started if there is "
        "none, or of a host; N of them, or as many as it has room for.  [default: the setting "
        "workers_on, this machine]",
    )
    return workers(on(command))


def context_workers_options(command: _Command) -> _Command:
    """Add --workers and --on for the workers that write contexts."""
    workers = click.option(
        "--workers",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="Write the contexts of N documents at once in N processes, which share the "
        "processors; the model is in memory N times. 0: one document after another.  [default: 0]",
    )
    on = click.option(
        "--on",
        "workers_on",
        default="",
        metavar="ray|ray://HOST:PORT",
        help='Write contexts in actors of a Ray cluster, as "crx index --on" embeds; N of them, or '
        "as many as it has room for.  [default: this machine]",
    )
    return workers(on(command))


exclude_option = click.option(
    "--exclude",
    metavar="GLOB",
    multiple=True,
    help="Leave out files that match, by the rules of .gitignore; repeatable.",
)


def prompt_options(command: _Command) -> _Command:
    """Add --prompt and --glossary for what a model reads when it writes contexts."""
    prompt = click.option(
        "--prompt",
        type=_FILE,
        metavar="FILE",
        help="Prompt template with the placeholders {document} and {chunk}.  [default: the one "
        "built in]",
    )
    glossary = click.option(
        "--glossary",
        type=_FILE,
        metavar="FILE",
        help="Text that is put before every prompt, such as a list of terms.  [default: none]",
    )
    return prompt(glossary(command))


def parse_settings(assignments: tuple[str, ...]) -> dict[str, object]:
    """Return the settings that --set gave."""
    values: dict[str, object] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise UsageError(f"--set {assignment}: want NAME=VALUE")
        values[name.strip()] = value.strip()
    return values


def find_index(folder: str | None) -> Path | None:
    """Return the index folder that is named or nearest, or None if there is none."""
    if named := folder or os.environ.get("CRX_INDEX"):
        if is_engine_address(named):
            raise UsageError(
                "this command needs an index folder, not a database; work on a folder, and carry "
                'it over with "crx copy"'
            )
        return Path(named)
    found = nearest_index(os.getcwd())
    return not_a_link(Path(found)) if found else None


def not_a_link(folder: Path) -> Path:
    """Return the folder of an index that nobody named; raise `UsageError` if it is a link.

    A link may have come with a project, and lead out of it.
    """
    if folder.is_symlink():
        raise UsageError(
            f"{folder}: a link, which is followed only if you name it: --index {folder}"
        )
    return folder


def existing_index(folder: str | None) -> Path:
    """Return the index folder that is named or nearest; raises `UsageError` if there is none."""
    path = find_index(folder)
    if path is None:
        raise UsageError('no index here or above; "crx index PATH" makes one, --index names one')
    return path


def searchable_index(folder: str | None) -> Path | str:
    """Return the index folder as `existing_index`, or the URL of the database that is named."""
    named = folder or os.environ.get("CRX_INDEX")
    if named is not None and is_engine_address(named):
        return named
    return existing_index(folder)
