"""An index of four short documents, for the components of every framework."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import crx

TEXTS = {
    "whales.md": "# Whales\n\nBlue whales eat krill.\n\n## Song\n\nHumpback whales sing.\n",
    "bread.md": "# Bread\n\nBake the bread at 240 degrees with steam.\n",
    "tides.md": "# Tides\n\nWhales feed when the tide turns.\n",
    "ports.md": "# Ports\n\nWhales are seen from the port in May.\n",
}


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine function, as the suite of langchain-tests has one, to its end."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def index(tmp_path: Path) -> Iterator[crx.Index]:
    """An index of chunks of at most 40 characters."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in TEXTS.items():
        (docs / name).write_text(text)
    settings = {"embedder": "hashed", "chunk_chars": 40}
    with crx.open(tmp_path / "notes.crx", settings=settings) as index:
        index.add(docs)
        yield index
