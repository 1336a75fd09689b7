"""`python -m crx` is the command `crx`."""

from crx.cli import main

main()
