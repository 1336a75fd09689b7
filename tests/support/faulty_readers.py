"""A plugin of readers that crash, hang or flood, installed for a test; `.NAME` calls each."""

from __future__ import annotations

from pathlib import Path

import pytest

from crx.ingest import readers

FAULTS = {
    "segfault": "os.kill(os.getpid(), signal.SIGSEGV)",
    "hang": "signal.pause()",
    "spin": "while True: pass",
    "allocate": "kept = [bytearray(10_000_000) for _ in range(1000)]",
    "exit": "print('no more', file=sys.stderr, flush=True); os._exit(3)",
    "raise": "raise KeyError('a part')",
    "recurse": "recurse = lambda n: recurse(n + 1) + 1; recurse(0)",
    "flood": "while True: yield document(name, 'words ' * 100_000)",
    "print": "print('on the standard output', flush=True); yield document(name, 'printed')",
    "late": "yield document(name, 'first'); os.kill(os.getpid(), signal.SIGSEGV)",
    "once": (
        "again = os.path.exists(data); open(data, 'wb').close()\n"
        "        if not again: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "        yield document(name, 'read by the second worker')"
    ),
    "pid": "yield document(name, str(os.getpid()))",
}
_MODULE = """
import os, signal, sys
from crx.types import Document

def document(name, text):
    return Document(uri=name, text=text)
"""
_READER = """
class {name}:
    extensions = (".{name}",)
    def read(data, *, name):
        {body}
        if False: yield
"""


def install(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Install the plugin for this process and its children."""
    module = _MODULE + "".join(_READER.format(name=f"fault_{n}", body=b) for n, b in FAULTS.items())
    (folder / "faulty.py").write_text(module.replace('".fault_', '".'))
    info = folder / "faulty-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
    points = "".join(f"{name} = faulty:fault_{name}\n" for name in FAULTS)
    (info / "entry_points.txt").write_text(f"[crx.readers]\n{points}")
    patch.syspath_prepend(folder)
    patch.setenv("PYTHONPATH", str(folder), prepend=":")
    readers._load_plugins.cache_clear()
