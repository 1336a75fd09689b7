"""One index in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_of_engines import make_folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index folder of documents in English and Chinese."""
    return make_folder(tmp_path_factory.mktemp("engines") / "notes.crx")
