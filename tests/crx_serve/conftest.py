"""Two indexes without models, a service of both, and a server of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import BREAD, WHALES
from served import SETTINGS, Client, serving_app

import crx
from crx_serve.app import create_app
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService


@pytest.fixture
def sea(tmp_path: Path) -> Path:
    """An index of a document about whales."""
    return make_index(tmp_path / "sea.crx", tmp_path / "whales.md", WHALES)


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """An index of a document about bread."""
    return make_index(tmp_path / "kitchen.crx", tmp_path / "bread.md", BREAD)


def make_index(place: Path, file: Path, text: str) -> Path:
    file.write_text(text)
    with crx.open(place, settings=SETTINGS) as index:
        index.add(file)
    return place


@pytest.fixture
def service(sea: Path, kitchen: Path) -> Iterator[SearchService]:
    """A service of both indexes; "sea" is the first."""
    indexes = [ServedIndex(each.stem, each, settings=SETTINGS) for each in (sea, kitchen)]
    made = SearchService(indexes)
    yield made
    made.close()


@pytest.fixture
def client(service: SearchService) -> Iterator[Client]:
    """A client of a server of both indexes, without a guard."""
    with serving_app(create_app(service)) as made:
        yield made
