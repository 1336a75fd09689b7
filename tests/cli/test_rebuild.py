"""`crx rebuild` and `crx verify --deep`: derived files are made anew, and looked into."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_line import Crx

from crx import _native


@pytest.fixture
def forged(indexed: Path, crx: Crx) -> Path:
    """An index whose BM25 is that of an empty one, as of the same change."""
    assert crx("search", "krill").code == 0
    bm25 = indexed / "derived" / "bm25"
    store = _native.Store.open(str(indexed))
    seq = store.seq
    store.close()
    shutil.rmtree(bm25)
    lexical = _native.Lexical.open(str(bm25), write=True)
    lexical.commit(seq)
    lexical.close()
    return bm25


def test_files_that_match_their_hashes_but_not_the_rows_are_found(forged: Path, crx: Crx) -> None:
    assert forged.exists()
    found = crx("verify", "--deep")
    assert found.code == 0
    assert "BM25 holds 0 chunks instead of" in found.out
    assert "made anew" in found.out
    assert crx("verify", "--deep").out.endswith(": every row matches its hash\n")
    assert crx("search", "krill", "--leg", "bm25").code == 0


def test_rebuild_makes_them_anew_without_asking(forged: Path, crx: Crx) -> None:
    (forged.parent / "left-behind").write_text("x")
    done = crx("rebuild")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("chunks made anew\n")
    assert not (forged.parent / "left-behind").exists()
    assert crx("search", "krill", "--leg", "bm25").code == 0
    assert "made anew" not in crx("verify", "--deep").out


def test_rebuild_waits_for_no_writer(indexed: Path, crx: Crx) -> None:
    store = _native.Store.open(str(indexed), write=True)
    try:
        assert crx("rebuild").code == 5
    finally:
        store.close()
