"""Folders of BM25 whose writer was killed, and with files that do not belong together."""

from __future__ import annotations

import shutil
from pathlib import Path

import orjson
import pytest

import crx
from crx.types import Verification

DOCUMENTS = [crx.Document(f"mem:{n}", f"Heron {n} eats fish.") for n in range(8)]
CHANGED = crx.Document("mem:0", "Heron 0 eats frogs.")


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """Make an index that is one commit of BM25 behind, with the list of that commit."""
    folder = tmp_path / "notes.crx"
    bm25, before = folder / "derived" / "bm25", tmp_path / "before"
    with crx.open(folder, settings={"embedder": "hashed"}) as index:
        index.add_documents(DOCUMENTS)
        shutil.copytree(bm25, before)
        index.add_documents([CHANGED])
    lists = list(bm25.glob("*.del"))
    assert len(lists) == 1
    shutil.copy(lists[0], before)
    shutil.rmtree(bm25)
    before.rename(bm25)
    return folder


def test_the_next_command_commits_after_a_kill_that_left_a_list_of_deletes(killed: Path) -> None:
    with crx.open(killed) as index:
        (passage, *_) = index.search("frogs", legs=["bm25"])
        assert (passage.uri, passage.text) == (CHANGED.uri, CHANGED.text)
        assert index.search("frogs").notes == ()
        assert index.add_documents([crx.Document("mem:9", "A stork.")]).added == 1
        assert index.verify() == Verification((), ())


def test_lists_that_a_commit_names_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "notes.crx"
    with crx.open(folder, settings={"embedder": "hashed"}) as index:
        index.add_documents(DOCUMENTS)
        index.add_documents([CHANGED])
        lists = sorted((folder / "derived" / "bm25").glob("*.del"))
        assert len(lists) == 1
        index.add_documents([crx.Document("mem:9", "A stork.")])
        assert sorted((folder / "derived" / "bm25").glob("*.del")) == lists
        assert index.verify() == Verification((), ())


def swap_files(bm25: Path, one: str, other: str) -> None:
    """Swap two files of a segment; each still matches its own checksum."""
    (first,), (second,) = bm25.glob(f"*.{one}"), bm25.glob(f"*.{other}")
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def test_swapped_files_are_noticed_and_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "notes.crx"
    with crx.open(folder, settings={"embedder": "hashed"}) as index:
        index.add_documents(DOCUMENTS)
        expected = index.search("fish", legs=["bm25"]).hits
    swap_files(folder / "derived" / "bm25", "fast", "fieldnorm")
    with crx.open(folder) as index:
        result = index.search("fish", legs=["bm25"])
        assert result.notes == (
            f"{folder}/derived/bm25: its files do not belong together; made anew from the store",
        )
        assert result.hits == expected
        assert index.verify() == Verification((), ())


@pytest.fixture
def two_segments(tmp_path: Path) -> Path:
    folder = tmp_path / "notes.crx"
    with crx.open(folder, settings={"embedder": "hashed"}) as index:
        index.add_documents(DOCUMENTS)
    with crx.open(folder) as index:
        index.add_documents([crx.Document("mem:stork", "A stork eats frogs and more fish.")])
    return folder


def swap_postings(bm25: Path) -> None:
    """Swap the postings of two segments; no segment lacks a file, and each file is sound."""
    first, second = sorted(bm25.glob("*.idx"))
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def test_files_of_another_segment_are_noticed_before_a_search_reads_them(
    two_segments: Path,
) -> None:
    with crx.open(two_segments) as index:
        expected = index.search("fish", legs=["bm25"]).hits
    swap_postings(two_segments / "derived" / "bm25")
    with crx.open(two_segments) as index:
        result = index.search("fish", legs=["bm25"])
        assert "its files do not belong together" in result.notes[0]
        assert result.hits == expected


def test_a_record_that_cannot_be_read_is_no_damage(two_segments: Path) -> None:
    (two_segments / "derived" / "bm25" / "file-ends.json").write_bytes(b"[")
    with crx.open(two_segments) as index:
        assert index.search("stork", legs=["bm25"]).notes == ()


def test_the_record_names_only_files_of_the_last_commit(two_segments: Path) -> None:
    bm25 = two_segments / "derived" / "bm25"
    with crx.open(two_segments) as index:
        index.remove("mem:stork")
    recorded = orjson.loads((bm25 / "file-ends.json").read_bytes())
    assert recorded
    assert all((bm25 / name).exists() for name in recorded)
