"""The heaps of glibc: one for each core, where it has up to eight of them.

Each thread frees into the heap that it has taken from, and what is free in one heap is not used by
the others: after 5,000 requests of `benches/serve_memory.py` a server on two cores had 468 MB, and
with two heaps 436.
"""

from __future__ import annotations

import ctypes

from crx.thread_count import thread_count

# `M_ARENA_MAX` of malloc.h.
_MOST_HEAPS = -8


def limit_heaps() -> None:
    """Have the threads of this process share one heap a core; other libraries have no such limit.

    To be called before there are threads: the heaps that they have stay.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # macOS, musl, Windows
        return
    set_option(_MOST_HEAPS, max(2, thread_count()))
