"""The command `crx`, also as `python -m crx`."""

import gc
import os
import signal
import sys

# Objects that are made between two collections of garbage. A search makes fewer; with Python's 700,
# what it imports is visited again and again, for a tenth of its time, and none of it is garbage.
_COLLECT_AFTER = 100_000


def set_up_process() -> None:
    """Change what makes an interpreter start slowly."""
    # The threads of numpy's linear algebra take a tenth of a second of the CPU to start, and crx
    # multiplies little with it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(_COLLECT_AFTER)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as by `>&-`: what is printed is wanted by nobody
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


def main() -> None:
    """Run the command line and exit."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # While modules are imported there is nothing to end in order, and no traceback to print.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    set_up_process()
    # Imported here: the collector and numpy are set up before anything large is imported.
    from crx._cli import main as run_here

    run_here()


if __name__ == "__main__":
    main()
