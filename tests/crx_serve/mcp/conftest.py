"""Two indexes without models, named sea and kitchen, and a service of both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import BREAD, WHALES
from served import SETTINGS

import crx
from crx_serve.served_index import open_indexes
from crx_serve.service import SearchService


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """The folders of both indexes; the documents are beside them, in docs/."""
    made = []
    for name, file, text in (("sea", "whales.md", WHALES), ("kitchen", "bread.md", BREAD)):
        docs = tmp_path / name / "docs"
        docs.mkdir(parents=True)
        (docs / file).write_text(text)
        folder = tmp_path / name / f"{name}.crx"
        with crx.open(folder, settings=SETTINGS) as index:
            index.add(docs)
        made.append(folder)
    return made[0], made[1]


@pytest.fixture
def service(folders: tuple[Path, Path]) -> Iterator[SearchService]:
    """A service of both indexes."""
    made = SearchService(open_indexes([str(folder) for folder in folders], settings=SETTINGS))
    yield made
    made.close()
