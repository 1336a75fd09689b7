"""A folder of BM25 whose writer was killed between a list of deleted chunks and its commit."""

from __future__ import annotations

import shutil
from pathlib import Path

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


def test_the_next_command_commits_the_same_changes_again(killed: Path) -> None:
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
