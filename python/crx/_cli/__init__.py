"""The `crx` command: answers on stdout, all else on stderr, exit codes by kind of failure."""

from __future__ import annotations

import difflib
import errno
import os
import re
import shlex
import signal
import sys
import warnings
from gc import freeze
from importlib import import_module
from types import FrameType
from typing import Literal, TextIO

import click

from crx._cli.output import print_note, print_text
from crx.config import ConfigWarning
from crx.errors import CrxError, NoRoom, SystemFailure, UsageError
from crx.plugins import SHIPPED, load_shipped

# Every command and its line in "crx --help".
COMMANDS = {
    "init": "Make an empty index here, with settings of its own.",
    "index": "Make or refresh an index of files and folders.",
    "embed": "Make the vectors that the index lacks.",
    "watch": "Keep an index equal to folders while they change.",
    "remove": "Remove documents from the index.",
    "contextualize": "Have a model write contexts for the chunks.",
    "plan": "Estimate what an index would take.",
    "search": "Print the passages that answer a query.",
    "open": "Open a passage of the last search.",
    "list": "List your indexes.",
    "ask": "Have a model answer a question, with citations.",
    "serve": "Answer searches over HTTP until stopped.",
    "prompt": 'Print the prompt that "crx ask" would send.',
    "show": "Print a document, its chunks and their contexts.",
    "status": "Print what the index holds and lacks.",
    "export": "Write contexts to a file.",
    "import": "Read contexts from a file.",
    "mcp": "Let a language model search the index.",
    "agents": "Set up the agents of this machine to search with crx.",
    "doctor": "Check the installation and the index.",
    "models": "List, add, check and remove models.",
    "bundle": "Carry crx and its models to a machine without a network.",
    "eval": "Measure retrieval on questions with known answers.",
    "config": "Print and change the settings.",
    "trust": "Let a project's settings, or an index, act outside their folder.",
    "verify": "Check every row and rebuild derived files.",
    "rebuild": "Make the derived files anew from the database.",
    "salvage": "Take what is intact out of a damaged index.",
    "backup": "Copy the index into a new folder.",
    "copy": "Copy the index to a database or back.",
    "gc": "Delete what no document uses.",
    "completion": "Print a shell's completion script.",
    "help": "Explain settings, exit codes, files, models and filters.",
}

HELP_OPTIONS = ("-h", "--help")

# The exit code after Ctrl-C.
INTERRUPTED = 130
_RESUMES = "interrupted; the same command resumes"

# The variable through which a shell asks for completions.
COMPLETE_VARIABLE = "_CRX_COMPLETE"

# The module and the function of commands that share a module.
_FUNCTIONS = {
    "backup": ("maintenance", "back_up"),
    "export": ("exchange", "export_contexts"),
    "gc": ("maintenance", "delete_unused"),
    "import": ("exchange", "import_contexts"),
    # Modules of their names would hide what Python calls so.
    "list": ("index_list", "command"),
    "open": ("opener", "command"),
    "rebuild": ("maintenance", "rebuild"),
    "salvage": ("maintenance", "salvage"),
    "trust": ("config", "trust_file"),
    "verify": ("maintenance", "verify"),
}
# Arguments that hold free text, which may begin with "-".
_FREE_TEXT = frozenset({"query", "words", "question"})
# What other programs call the option for the number of answers.
_COUNTS = frozenset({"--limit", "--hits", "--top", "--count", "--num", "--max"})
_RANGE = re.compile(r"(\S+) is not in the range x>=(\S+)")


class _Commands(click.Group):
    """The commands, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in SHIPPED["crx.commands"]:
            return _load_shipped(cmd_name)
        module, function = _FUNCTIONS.get(cmd_name, (cmd_name, "command"))
        command = getattr(import_module(f"crx._cli.{module}"), function)
        assert isinstance(command, click.Command)
        command.short_help = COMMANDS[cmd_name]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UsageError(f'{args[0]}: no such command; {hint}"crx --help" lists them')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _load_shipped(name: str) -> click.Command:
    """Return a command of another package; if that is missing, one that says what installs it."""
    try:
        command = load_shipped("crx.commands", name)
        assert isinstance(command, click.Command)
    except UsageError as error:
        command = _missing_command(name, error)
    command.short_help = COMMANDS[name]
    return command


def _missing_command(name: str, error: UsageError) -> click.Command:
    """Return a command that takes any arguments and raises the error."""

    def fail() -> None:
        raise error

    return click.Command(
        name,
        callback=fail,
        params=[click.Argument(["arguments"], nargs=-1, expose_value=False)],
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )


@click.group(cls=_Commands, context_settings={"help_option_names": list(HELP_OPTIONS)})
@click.version_option(package_name="crx")
def cli() -> None:
    """Search your own documents, on your own machine, offline.

    \b
    crx index docs/          make or refresh the index in ./.crx
    crx search "QUESTION"    print the passages that answer
    crx ask "QUESTION"       have a model answer from them

    Exit codes: 0 done, 1 nothing found, 2 usage, 3 some or all files or contexts failed, 4 index
    or bundle damaged or incompatible, 5 locked, 6 no room or resources, 7 model, 130 interrupted.
    """


def main() -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its code; without this, a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    received: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    # A service manager ends a process so; it is to end as after Ctrl-C, with its files in order.
    signal.signal(signal.SIGTERM, interrupt)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupt)
    try:
        code = run(sys.argv[1:])
    except Exception:
        if not received:
            raise
        # A library took the interrupt for a failure of its own.
        code = _fail(_RESUMES, INTERRUPTED)
    # At its end Python would look for garbage among all that was imported, for 20 ms.
    freeze()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command line; return its exit code. Every failure becomes one line on stderr."""
    if instruction := os.environ.get(COMPLETE_VARIABLE):
        # Imported here: only a shell that completes a command line needs it.
        from click.shell_completion import shell_complete

        import crx._cli.bash_completion  # noqa: F401 - registers itself

        return shell_complete(cli, {}, "crx", COMPLETE_VARIABLE, instruction)
    with warnings.catch_warnings():
        _print_warnings_as_notes()
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    try:
        # `cli.main` would exit with 1 when the reader of a pipe has gone.
        with cli.make_context("crx", arguments or ["--help"]) as context:
            code = cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as done:  # --help, --version
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:  # a command that has commands of its own
        print_text(error.format_message())
        return error.exit_code
    except click.ClickException as error:
        return _fail(_describe(error, arguments), error.exit_code)
    except CrxError as error:
        return _fail(str(error), error.exit_code)
    except ValueError as error:
        return _fail(str(error), 2)
    except (KeyboardInterrupt, click.Abort) as interrupt:
        return _fail(str(interrupt) or _RESUMES, INTERRUPTED)
    except BrokenPipeError:
        _discard("stdout")  # the reader has gone, as in `| head`
        return 0
    except MemoryError:
        return _fail("out of memory", NoRoom.exit_code)
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
        if error.filename or is_full or error.errno == errno.EIO:
            if not error.filename:
                _discard("stdout")
            code = (NoRoom if is_full else SystemFailure).exit_code
            reason = (error.strerror or str(error)).lower()
            return _fail(f"{os.fsdecode(error.filename or 'output')}: {reason}", code)
        raise
    return code if isinstance(code, int) else 0


def _describe(error: click.ClickException, arguments: list[str]) -> str:
    """Return click's message as one line in lower case, with the next step."""
    fact = " ".join(error.format_message().split()).removesuffix(".")
    fact = _RANGE.sub(r"\1 is less than \2", f"{fact[:1].lower()}{fact[1:]}")
    if isinstance(error, click.NoSuchOption):
        fact = f"no such option {error.option_name!r}"
        if near := _near_option(error):
            return f"{fact}; did you mean {near}?"
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return f'{fact}; "crx --help" lists the options'
    is_unknown = isinstance(error, click.NoSuchOption)
    if is_unknown and (text := _text_with_dash(context.command, arguments)):
        example = f"{context.command_path} -- {text}"
        return f'{fact}; put "--" before a text that begins with "-": {example}'
    return f'{fact}; "{context.command_path} --help" lists the options'


def _near_option(error: click.NoSuchOption) -> str:
    """Return the option that was meant, "" if none is near."""
    known = error.ctx.command.params if error.ctx else []
    if error.option_name in _COUNTS and any("-n" in option.opts for option in known):
        return "-n"
    # click's own suggestions are less alike than a slip makes them.
    near = difflib.get_close_matches(error.option_name, error.possibilities or (), n=1, cutoff=0.75)
    return near[0] if near else ""


def _text_with_dash(command: click.Command, arguments: list[str]) -> str:
    """Return the arguments from the first on that looks like text with a dash, "" without one."""
    if "--" in arguments or not _FREE_TEXT.intersection(p.name for p in command.params if p.name):
        return ""
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    for at, argument in enumerate(arguments):
        if argument.startswith("-") and argument.partition("=")[0] not in known:
            rest = arguments[at + 1 :]
            return shlex.join([argument, *([] if any(each[:1] == "-" for each in rest) else rest)])
    return ""


def _print_warnings_as_notes() -> None:
    """Print warnings about the configuration as notes, each once; leave all others to Python."""
    printed: set[str] = set()
    show = warnings.showwarning

    def print_warning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, ConfigWarning):
            show(message, category, filename, lineno, file, line)
        elif str(message) not in printed:
            printed.add(str(message))
            print_note(str(message))

    warnings.simplefilter("always", ConfigWarning)
    warnings.showwarning = print_warning


def _discard(name: Literal["stdout", "stderr"]) -> None:
    """Give up a stream: what it holds would fail again at exit, with another exit code."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    setattr(sys, name, os.fdopen(nowhere, "w", errors="replace"))


def _fail(message: str, code: int) -> int:
    try:
        print_note(message)
    except OSError:  # the exit code tells it, too
        _discard("stderr")
    return code
