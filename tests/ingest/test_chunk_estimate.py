"""The estimate of how many chunks unread files will make."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx.ingest import chunk_estimate
from crx.ingest.chunk_estimate import ChunkEstimate, estimate_chunks

TEXT = "Whales sing for hours, and the song changes every year. " * 200


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder with few texts, and with pictures that are a hundred times as large."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    for at in range(6):
        (folder / f"{at}.md").write_text(TEXT)
        (folder / f"{at}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100 * len(TEXT)))
    return folder


def test_pictures_are_not_taken_for_text(mixed: Path) -> None:
    seen: list[crx.Progress] = []
    index = crx.open(mixed.parent / "a.crx", settings={"embedder": "none"})
    report = index.add(mixed, on_progress=seen.append)
    assert report.chunks > 50
    assert seen[0].chunks_total == pytest.approx(report.chunks, rel=0.3)
    at_half = next(each for each in seen if each.documents == 6)
    assert at_half.chunks_total == pytest.approx(report.chunks, rel=0.1)


def test_each_kind_is_corrected_by_what_was_read_of_it() -> None:
    estimate = ChunkEstimate({".pdf": 1_000_000, ".md": 90_000})
    assert estimate.count() == 125 + 100
    estimate.note_read("/a/scan.pdf", size=600_000, chunks=0)
    assert estimate.count() == 1 + 100
    estimate.note_read("/a/a.md", size=45_000, chunks=450)
    assert estimate.count() == 1 + 442


def test_a_file_that_was_read_changes_the_count_of_its_kind_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    estimate = ChunkEstimate({f".{number}": 900 for number in range(500)})
    assert estimate.count() == 500
    asked: list[str] = []

    def bytes_a_chunk(kind: str) -> int:
        asked.append(kind)
        return chunk_estimate.BYTES_A_CHUNK

    monkeypatch.setattr(chunk_estimate, "bytes_a_chunk", bytes_a_chunk)
    for number in range(500):
        estimate.note_read(f"notes.{number}", size=900, chunks=1)
        assert estimate.count() == 499 - number
    assert len(asked) == 500


def test_a_kind_without_text_counts_what_it_made_after_all() -> None:
    estimate = ChunkEstimate({".dat": 10_000}, without_text=[".dat"])
    assert estimate.count() == 0
    estimate.note_read("b.dat", size=2_000, chunks=4)
    assert estimate.count() == 16


def test_a_file_that_is_gone_or_grew_since_is_no_error(tmp_path: Path) -> None:
    estimate = estimate_chunks({tmp_path / "gone.xyz": 900, tmp_path / "a.md.gz": 300})
    assert estimate.count() == 1
    estimate.note_read("a.md.gz", size=900, chunks=3)
    assert estimate.count() == 0


def test_archives_count_as_the_texts_that_they_may_hold(tmp_path: Path) -> None:
    sizes = {"a.zip": 3_000, "a.tgz": 3_000, "a.tar": 9_000}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(bytes(size))
    assert estimate_chunks({tmp_path / name: size for name, size in sizes.items()}).count() == 30
