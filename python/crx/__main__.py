"""The command `crx`, also as `python -m crx`.

A search that a running server answers imports neither the options nor the index.
"""

import gc
import os
import sys

from crx.serve.command_client import answer_by_server

# Objects that are made between two collections of the garbage collector. With Python's 700, it
# visits what is imported again and again, and finds nothing: that takes 7 ms of each command.
COLLECT_AFTER = 20_000


def set_up_process() -> None:
    """Change what makes an interpreter start slowly."""
    # The threads of numpy's linear algebra take a tenth of a second of the CPU to start, and crx
    # multiplies little with it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(COLLECT_AFTER)


def main() -> None:
    """Run the command line and exit."""
    set_up_process()
    code = answer_by_server(sys.argv[1:])
    if code is not None:
        sys.exit(code)
    from crx.cli import main as run_here

    run_here()


if __name__ == "__main__":
    main()
