"""Memory of a process that serves for long: the heaps of its threads, and garbage.

Each thread frees into the heap of glibc that it has taken from, and what is free in one heap is not
used by the others: after 5,000 requests of `benches/serve_memory.py` a server on two cores had 468
MB, and with two heaps 436.
"""

from __future__ import annotations

import ctypes
import gc

from crx.thread_count import thread_count

# `M_ARENA_MAX` and `M_MMAP_THRESHOLD` of malloc.h.
_MOST_HEAPS, _LEAST_MAPPED = -8, -3
# Bytes from which a block is taken from the system and given back to it: those of the arrays and of
# the models of a search.
_MAPPED_BYTES = 256 * 1024
# Those of Python. A command has a higher one, so that it starts soon.
_THRESHOLDS = 700, 10, 10


def limit_heaps() -> None:
    """Have the threads of this process share one heap a core, of small blocks alone.

    To be called before there are threads: the heaps that they have stay. Without glibc nothing is
    changed.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # macOS, musl, Windows
        return
    set_option(_MOST_HEAPS, max(2, thread_count()))
    set_option(_LEAST_MAPPED, _MAPPED_BYTES)


def collect_often() -> None:
    """Collect garbage after as few objects as Python does, and visit what is loaded no more.

    Pages of results are in cycles: 15,000 requests left 44,000 objects that nothing had collected.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
