"""`python -m crx.cli`."""

from crx.cli import main

main()
