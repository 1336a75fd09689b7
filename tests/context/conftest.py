"""A folder of three documents, and an index of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from surveys import NAMES, SETTINGS, survey

import crx


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in NAMES[:3]:
        (folder / f"{name}.md").write_text(survey(name, 12))
    return folder


@pytest.fixture
def index(tmp_path: Path, docs: Path) -> crx.Index:
    index = crx.open(tmp_path / "notes.crx", settings=SETTINGS)
    index.add(docs)
    return index
