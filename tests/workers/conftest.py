"""Documents for workers, and an embedder, as a plugin, that makes its process fail."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_PLUGIN = """
import os, signal
from crx.backends.hashed import HashedEmbedder

class Deadly(HashedEmbedder):
    def embed(self, texts, *, query=False):
        if any("poison" in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts, query=query)

def load(rest):
    return Deadly()
"""


@pytest.fixture
def deadly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An embedder that kills its process when it reads the word poison."""
    folder = tmp_path / "plugin"
    info = folder / "deadly-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "deadly.py").write_text(_PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: deadly\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[crx.embedders]\ndeadly = deadly:load\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    importlib.invalidate_caches()
    yield "deadly"
    sys.modules.pop("deadly", None)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Forty documents of prose, one of source code, one of a long line, and two that are equal."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(40):
        paragraphs = (f"Whale {n} eats krill number {n * k}, off the coast {k}." for k in range(4))
        (folder / f"whale{n:02}.md").write_text(f"# Whale {n}\n\n" + "\n\n".join(paragraphs))
    functions = (f"def feed_{n}(whale):\n    return whale.eat({n})\n\n\n" for n in range(30))
    (folder / "feed.py").write_text('"""Feeding."""\n\n\n' + "".join(functions))
    (folder / "line.txt").write_text(" ".join(f"krill{n}" for n in range(900)))
    (folder / "copy.md").write_text((folder / "whale00.md").read_text())
    return folder
