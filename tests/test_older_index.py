"""An index of an earlier format is not read: it says that it has to be built again."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import crx
from crx._index.reader import IndexReader, open_reader
from crx.errors import Incompatible

# A `crx.db` of format 1, which has no kinds of documents.
OLDER = Path(__file__).parent / "data" / "format-1.db.gz"


@pytest.mark.parametrize("opened", [partial(crx.open, create=False), open_reader])
def test_an_index_of_an_earlier_format_has_to_be_built_again(
    opened: Callable[[Path], IndexReader], tmp_path: Path
) -> None:
    folder = tmp_path / "notes.crx"
    folder.mkdir()
    (folder / "crx.db").write_bytes(gzip.decompress(OLDER.read_bytes()))
    with pytest.raises(Incompatible, match=r"format 1, .* format 2; .* move the folder away"):
        opened(folder)
