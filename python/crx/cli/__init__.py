"""The `crx` command: answers on stdout, all else on stderr, an exit code that means something."""

from __future__ import annotations

import difflib
import errno
import os
import sys
from importlib import import_module

import click

from crx.errors import CrxError, NoRoom, UsageError

COMMANDS = (
    "index",
    "contextualize",
    "plan",
    "search",
    "ask",
    "prompt",
    "show",
    "status",
    "export",
    "import",
    "doctor",
    "models",
    "eval",
    "config",
    "verify",
    "gc",
)

INTERRUPTED = 130

# Commands whose name is no name of a module.
_MODULES = {"import": "import_"}


class _Commands(click.Group):
    """The verbs, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"crx.cli.{_MODULES.get(cmd_name, cmd_name)}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise UsageError(f'{args[0]}: no such command; {meant}"crx --help" lists them')
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="crx")
def cli() -> None:
    """Search your own documents, on your own machine, offline.

    \b
    crx index docs/          make or refresh the index in ./.crx
    crx search "QUESTION"    print the passages that answer
    crx ask "QUESTION"       have a model answer from them

    Exit codes: 0 done, 1 nothing found, 2 usage, 3 some or all inputs or contexts failed, 4 index
    damaged or incompatible, 5 locked, 6 no room or resources, 7 model, 130 interrupted.
    """


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line; return its exit code. Every failure becomes one line on stderr."""
    try:
        # Not `cli.main`: it exits with 1 where the reader of a pipe has gone.
        with cli.make_context("crx", arguments or ["--help"]) as context:
            code = cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as done:  # --help, --version
        return done.exit_code
    except click.ClickException as error:
        return _fail(_one_line(error), error.exit_code)
    except CrxError as error:
        return _fail(str(error), error.exit_code)
    except ValueError as error:
        return _fail(str(error), 2)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted; the same command goes on where it stopped", INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone, as in `| head`; what is buffered must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _fail("out of memory", NoRoom.exit_code)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            return _fail(f"{error.filename or 'output'}: {error.strerror}", NoRoom.exit_code)
        raise
    return code if isinstance(code, int) else 0


def _one_line(error: click.ClickException) -> str:
    """Return what click says of a command line as crx says it."""
    fact = " ".join(error.format_message().split()).removesuffix(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context is not None else "crx"
    return f'{fact[:1].lower()}{fact[1:]}; "{path} --help" says how'


def _fail(message: str, code: int) -> int:
    print(f"crx: {message}", file=sys.stderr)  # noqa: T201
    return code
