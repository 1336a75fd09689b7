"""An index that an earlier version of crx made is used as it is.

`tests/data/format-1.db.gz` is a `crx.db` of format 1 with the documents `whales.md` and `bread.md`,
their paths absolute, and without the table of pieces. Each change of the format adds a file.
"""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import crx
from crx.index.reader import IndexReader, open_reader
from crx.types import Verification

# An index folder with the terms of the first version of the analyzer.
ANALYZER_1 = Path(__file__).parent / "data" / "analyzer-1.tar.gz"
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


@pytest.mark.parametrize("opened", [partial(crx.open, create=False), open_reader])
def test_the_index_of_words_of_an_earlier_analyzer_is_rebuilt(
    opened: Callable[[Path], IndexReader], tmp_path: Path
) -> None:
    with tarfile.open(ANALYZER_1) as archive:
        archive.extractall(tmp_path, filter="data")
    with opened(tmp_path / "notes.crx") as index:
        result = index.search("licence of the organisation")
    assert [hit.text for hit in result.hits] == ["# Terms\n\nThe license of the organization.\n"]
    (note,) = result.notes
    assert "written by another version of the analyzer; made anew" in note
    with crx.open(tmp_path / "notes.crx", create=False) as index:
        assert index.verify() == Verification((), ())
