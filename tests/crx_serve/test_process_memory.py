"""The heaps of glibc that the threads of a server share, and how often garbage is collected."""

from __future__ import annotations

import ctypes
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

ALLOCATE = """
import ctypes, sys, threading
from crx_serve.process_memory import limit_heaps
if sys.argv[2] == "limited":
    limit_heaps()
together = threading.Barrier(12)
def allocate():
    together.wait()
    for _ in range(1_000):
        bytes(100_000)
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(library.fopen(sys.argv[1].encode(), b"w"))
library.malloc_info(0, file)
library.fclose(file)
"""

MEASURE = """
from crx_serve.process_memory import limit_heaps
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
{set_up}
del [bytearray(20_000_000)][:]  # after it, glibc takes blocks of this size from a heap
before = resident()
block, above = bytearray(b"x" * 10_000_000), bytearray(b"x" * 100_000)
del block
print(resident() - before < 5_000_000, end="")
"""


def count_heaps(tmp_path: Path, *, limited: str) -> int:
    target = tmp_path / limited
    words = [sys.executable, "-c", ALLOCATE, str(target), limited]
    subprocess.run(words, check=True, env={"CRX_THREADS": "3", "PYTHONPATH": ":".join(sys.path)})
    return len(re.findall("<heap nr=", target.read_text()))


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not hasattr(ctypes.CDLL(None), "malloc_info"),
    reason="glibc alone has such heaps",
)
def test_threads_share_one_heap_a_core(tmp_path: Path) -> None:
    assert count_heaps(tmp_path, limited="limited") <= 3 < count_heaps(tmp_path, limited="free")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone has such heaps")
@pytest.mark.parametrize(("set_up", "is_given_back"), [("limit_heaps()", "True"), ("", "False")])
def test_a_large_block_is_given_back_to_the_system(set_up: str, is_given_back: str) -> None:
    script = MEASURE.format(set_up=set_up)
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == is_given_back


COLLECT = """
import gc, weakref
from crx.__main__ import set_up_process
from crx_serve.process_memory import collect_often

class Page:
    pass

def count_left():
    left = []
    for _ in range(5_000):
        page = Page()
        page.itself = page
        left.append(weakref.ref(page))
    return sum(each() is not None for each in left)

set_up_process()
before = count_left()
collect_often()
print(before, count_left(), gc.get_freeze_count() > 0)
"""


def test_what_is_in_cycles_is_collected_while_a_server_runs() -> None:
    words = [sys.executable, "-c", COLLECT]
    before, after, frozen = subprocess.check_output(words, text=True).split()
    assert (before, frozen) == ("5000", "True")
    assert int(after) < 1_000
