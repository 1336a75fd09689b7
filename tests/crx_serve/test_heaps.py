"""The heaps of glibc that the threads of a server share."""

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
from crx_serve.heaps import limit_heaps
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
