"""The line that `crx index` prints about what it did, and what `crx status` says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Crx

from crx import open as open_index
from crx._cli.index import summarize
from crx.ingest.report import Report


def test_texts_longer_than_the_window_of_the_embedder_are_explained() -> None:
    report = Report(added=3, chunks=400, embedded=400, windowed=233)
    assert summarize(report) == (
        "3 files added; 233 chunks longer than the embedder's window, read in parts"
    )


def test_the_status_says_that_a_folder_was_not_read_to_the_end(crx: Crx, docs: Path) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with open_index(docs.parent / ".crx") as index, pytest.raises(KeyboardInterrupt):
        index.add(docs, on_progress=interrupt)
    assert 'from docs, not read to the end yet; "crx index" goes on\n' in crx("status").out
    assert json.loads(crx("status", "--json").out)["roots"][0]["complete"] is False
    assert crx("index", "-q").code == 0
    assert "not read to the end" not in crx("status").out


def test_a_file_of_many_documents_counts_once(crx: Crx, here: Path) -> None:
    seas = here / "notes" / "seas.jsonl"
    seas.parent.mkdir()
    records = [f'{{"id": "{n}", "text": "krill {n}"}}\n' for n in range(3)]
    seas.write_text("".join(records))
    assert crx("index", "notes").out == ".crx: 1 file added\n"
    seas.write_text("".join(records[:2]))
    assert crx("index").out == ".crx: 1 file changed\n"
    seas.unlink()
    assert crx("index").out.startswith(".crx: 1 file removed")
