"""An index that an earlier version of crx made is used as it is.

`tests/data/format-1.db.gz` is a `crx.db` of format 1 with the documents `whales.md` and `bread.md`,
their paths absolute, and without the table of pieces. Each change of the format adds a file.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import crx
from crx.types import Verification

OLDER = Path(__file__).parent / "data" / "format-1.db.gz"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes.crx"
    (folder / "derived").mkdir(parents=True)
    (folder / "crx.db").write_bytes(gzip.decompress(OLDER.read_bytes()))
    return folder


def test_it_is_searched_and_verified(folder: Path) -> None:
    with crx.open(folder, create=False) as index:
        (passage, *_) = index.search("krill")
        assert passage.uri == "/tmp/golden/docs/whales.md"
        assert (passage.lines, passage.headings) == ((1, 7), ("Whales",))
        assert passage.text.startswith("# Whales\n\nKrill is what a whale eats.\n\n## Size")
        assert index.verify() == Verification((), ())


def test_documents_are_added_to_it(folder: Path) -> None:
    with crx.open(folder, create=False) as index:
        report = index.add_documents([crx.Document("mem:1", "Herons eat fish.")])
        assert (report.added, report.embedded) == (1, 1)
    with crx.open(folder, create=False) as index:
        found = {passage.uri for passage in index.search("krill fish")}
        assert {"mem:1", "/tmp/golden/docs/whales.md"} <= found
        assert index.verify() == Verification((), ())
