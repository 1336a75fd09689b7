"""`crx completion`: print the script with which a shell completes crx's commands and options."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

import crx._cli.bash_completion  # noqa: F401 - registers itself
from crx._cli import COMPLETE_VARIABLE, cli
from crx._cli.output import print_text

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def command(*, shell: str) -> None:
    """Print the completion script of SHELL: bash, zsh or fish.

    \b
    bash   echo 'eval "$(crx completion bash)"' >> ~/.bashrc
    zsh    echo 'eval "$(crx completion zsh)"' >> ~/.zshrc
    fish   crx completion fish > ~/.config/fish/completions/crx.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    # Not that of the class: bash's starts a bash to ask for its version.
    script = ShellComplete.source(found(cli, {}, "crx", COMPLETE_VARIABLE))
    print_text(script.removesuffix("\n"))
