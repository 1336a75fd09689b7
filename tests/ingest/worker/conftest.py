"""Readers in a worker process that are at fault, each in its own way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import faulty_readers
import pytest

from crx.ingest import readers
from crx.ingest._worker.isolated_reader import IsolatedReader
from crx.ingest._worker.messages import ReadLimits


@pytest.fixture
def _faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Readers that crash, hang or flood."""
    folder = tmp_path / "plugin"
    folder.mkdir()
    faulty_readers.install(folder, monkeypatch)
    yield
    readers._load_plugins.cache_clear()


@pytest.fixture
def faulty(_faulty: None) -> Iterator[IsolatedReader]:
    """A reader with narrow limits, and plugins that exceed them."""
    with IsolatedReader(ReadLimits(seconds=1, memory_mb=400)) as reader:
        yield reader
