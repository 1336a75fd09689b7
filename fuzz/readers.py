"""Fuzzing of the readers, parsers and the server in Python, by atheris: see `make fuzz`.

    python fuzz/readers.py CORPUS [libFuzzer's options]

An input that breaks a promise is written to a file, whose path is printed.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from pathlib import Path

import atheris

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests" / "support"))
# Searches are not reranked.
os.environ["CRX_RERANKER"] = ""

PACKAGES = [
    "crx",
    "crx_formats",
    "email",
    "h11",
    "oxmsg",
    "starlette",
    "striprtf",
    "tomllib",
    "zipfile",
]

with atheris.instrument_imports(include=PACKAGES):
    from fuzz_entry_points import EntryPoints

    import crx_formats
    from crx.ingest import readers

    # Readers are imported when they are used: what is imported later is not instrumented.
    for package in (readers, crx_formats):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def main() -> None:
    """Fuzz until libFuzzer ends."""
    entry_points = EntryPoints()
    atheris.Setup(sys.argv, entry_points.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
