"""The line that `crx index` prints about what it did."""

from __future__ import annotations

from crx.cli.index import summarize
from crx.ingest.report import Report


def test_texts_longer_than_the_window_of_the_embedder_are_explained() -> None:
    report = Report(added=3, chunks=400, embedded=400, windowed=233)
    assert summarize(report) == (
        "3 added; 400 chunks put, 400 embedded "
        "(233 longer than the embedder's window, read in parts)"
    )
