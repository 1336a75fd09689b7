"""`crx eval`: measurements on questions with known answers. One file a command."""

from __future__ import annotations

import difflib
from importlib import import_module
from pathlib import Path

import click

from crx.errors import UsageError

# Every command and its line in "crx eval --help".
COMMANDS = {
    "run": "Measure what one configuration finds.",
    "ablate": "Measure what each step brings.",
    "compare": "Compare two saved runs, or two rows of one.",
    "gate": "Exit with 1 below a bound.",
    "init": "Write questions about one's own documents.",
}


class _EvalCommands(click.Group):
    """The commands of `crx eval`, imported when called; any other word is a set to run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"crx_evaluate.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        command.short_help = COMMANDS[cmd_name]
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*COMMANDS, "-h", "--help"):
            if not args[0].startswith("-") and not Path(args[0]).exists():
                near = difflib.get_close_matches(args[0], COMMANDS, n=1)
                meant = f"did you mean {near[0]}? " if near else ""
                raise UsageError(
                    f'{args[0]}: no such folder or command; {meant}"crx eval --help" lists them'
                )
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_EvalCommands, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Measure what each step of retrieval finds, on questions with known answers.

    \b
    crx eval SET             what each leg finds of a question set, and both
    crx eval ablate SET      what each step brings, with confidence intervals
    crx eval init --out SET  make a question set of your own documents

    A set is a folder of corpus.jsonl and queries.jsonl. A gold item is found at k when the top k
    chunks cover at least half of it; the failure rate is 1 - recall@20.
    """
