"""The command `crx`, also as `python -m crx`.

A search that a running server answers imports neither the options nor the index.
"""

import os
import sys

from crx.serve.command_client import answer_by_server


def main() -> None:
    """Run the command line and exit."""
    # The threads of numpy's linear algebra take a tenth of a second of the CPU to start, and crx
    # multiplies little with it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = answer_by_server(sys.argv[1:])
    if code is not None:
        sys.exit(code)
    from crx.cli import main as run_here

    run_here()


if __name__ == "__main__":
    main()
