"""The line for an index of an earlier format, and what it tells to do."""

from __future__ import annotations

import gzip
from pathlib import Path

from command_line import Crx

# A `crx.db` of format 1.
OLDER = Path(__file__).parent.parent / "data" / "format-1.db.gz"


def test_the_next_step_that_is_told_makes_a_new_index(crx: Crx, docs: Path, tmp_path: Path) -> None:
    index = tmp_path / "notes.crx"
    index.mkdir()
    (index / "crx.db").write_bytes(gzip.decompress(OLDER.read_bytes()))
    command = ("index", docs, "--index", index, "--embedder", "none")
    told = crx(*command)
    assert (told.code, told.err.count("\n")) == (4, 1)
    assert "move the folder away and make a new index with `crx index PATH`" in told.err
    index.rename(tmp_path / "older.crx")
    assert crx(*command).code == 0
