"""Documents for workers on Ray."""

from __future__ import annotations

from pathlib import Path

import pytest
from whale_documents import write_whales


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Documents of `whale_documents`."""
    return write_whales(tmp_path / "docs")
