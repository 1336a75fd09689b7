"""Documents for workers, and plugins that make their process fail."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from whale_documents import write_whales

from crx.workers.child import Child
from crx_engines.pools import local_processes

_DEADLY = """
import os, signal
from crx._backends.hashed import HashedEmbedder

class Deadly(HashedEmbedder):
    def embed(self, texts, *, query=False):
        if any("poison" in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts, query=query)

def load(rest):
    return Deadly()
"""
_TRACED = """
import os, signal
from crx_runtimes.fake.contextualizer import Fake

class Traced(Fake):
    def situate(self, document, chunks):
        for chunk, context in zip(chunks, super().situate(document, chunks), strict=True):
            with open(os.environ["TRACE"], "a") as file:
                file.write(f"{os.path.basename(document.uri)}:{chunk.start}\\n")
            if "poison" in chunk.text:
                os.kill(os.getpid(), signal.SIGKILL)
            yield context

def load(rest):
    return Traced()
"""


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[Child]:
    """The processes of the workers that are started."""
    started: list[Child] = []

    def start(command: tuple[str, ...]) -> Child:
        started.append(Child(command))
        return started[-1]

    monkeypatch.setattr(local_processes, "Child", start)
    return started


@pytest.fixture
def deadly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An embedder that kills its process when it reads the word poison."""
    _install("deadly", _DEADLY, "crx.embedders", tmp_path, monkeypatch)
    yield "deadly"
    sys.modules.pop("deadly", None)


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that names each chunk that `traced:` writes a context for; likewise deadly."""
    _install("traced", _TRACED, "crx.contextualizers", tmp_path, monkeypatch)
    trace = tmp_path / "trace"
    monkeypatch.setenv("TRACE", str(trace))
    yield trace
    sys.modules.pop("traced", None)


def _install(
    name: str, code: str, group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Install a plugin of one module for this process and those that it starts."""
    folder = tmp_path / "plugin"
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / f"{name}.py").write_text(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {name}:load\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    importlib.invalidate_caches()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Documents of `whale_documents`."""
    return write_whales(tmp_path / "docs")
