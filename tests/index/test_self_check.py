"""A run whose documents a leg does not find fails."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import crx
from crx import _native
from crx._cli import run
from crx._index.self_check import require_found
from crx._index.writer import Writer
from crx.errors import Damaged

SETTINGS = {"embedder": "hashed"}
DOCUMENT = crx.Document("mem:1", "Herons eat fish.")


def test_a_run_fails_if_bm25_does_not_find_what_was_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "herons.md").write_text(DOCUMENT.text)
    monkeypatch.setattr(Writer, "commit_lexical", lambda self, store: None)
    monkeypatch.setenv("CRX_EMBEDDER", "hashed")
    command = ["index", str(tmp_path / "herons.md"), "--index", str(tmp_path / "i.crx"), "-q"]
    assert run(command) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"crx: {tmp_path}/herons.md: BM25 does not find its first chunk, which")


def test_the_dense_leg_is_checked_too(tmp_path: Path) -> None:
    with crx.open(tmp_path / "i.crx", settings=SETTINGS) as index:
        index.add_documents([DOCUMENT])
        lexical = _native.Lexical.open(str(tmp_path / "i.crx" / "derived" / "bm25"))
        (tmp_path / "empty").mkdir()
        dense = _native.Dense.open(str(tmp_path / "empty"), seal_key=bytes(32))
        dimensions = index.embedder.dimensions
        with pytest.raises(Damaged, match="mem:1: the dense leg does not find its first chunk"):
            require_found(index.store, [1], lexical=lexical, dense=dense, dimensions=dimensions)
        require_found(index.store, [1], lexical=lexical, dense=dense, dimensions=0)


def test_a_uri_may_hold_the_signs_of_a_filter(tmp_path: Path) -> None:
    with crx.open(tmp_path / "i.crx", settings=SETTINGS) as index:
        documents = [crx.Document(f"mem:{name}", DOCUMENT.text) for name in ("[a", "*", "?", "{b")]
        assert index.add_documents(documents).added == len(documents)


@pytest.mark.parametrize("text", ["...", "the", "The of and", "日本", "", " \n"])
def test_a_document_of_few_words_or_none_fails_no_run(tmp_path: Path, text: str) -> None:
    with crx.open(tmp_path / "i.crx", settings=SETTINGS) as index:
        index.add_documents([crx.Document("mem:0", text), DOCUMENT])
        assert [passage.uri for passage in index.search("fish", legs=["bm25"])] == ["mem:1"]


def test_doctor_fails_if_a_leg_does_not_find_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "i.crx"
    with crx.open(folder, settings=SETTINGS) as index:
        index.add_documents([DOCUMENT])
        index.check_findable()
    with crx.open(tmp_path / "other.crx", settings=SETTINGS) as other:
        other.add_documents([crx.Document(DOCUMENT.uri, "Snow melts.")])
    shutil.rmtree(folder / "derived" / "bm25")
    shutil.copytree(tmp_path / "other.crx" / "derived" / "bm25", folder / "derived" / "bm25")
    monkeypatch.setenv("CRX_EMBEDDER", "hashed")
    assert run(["doctor", "--index", str(folder)]) == 4
    assert "mem:1: BM25 does not find its first chunk" in capsys.readouterr().out
    assert run(["rebuild", "--index", str(folder)]) == 0
    assert run(["doctor", "--index", str(folder)]) == 0
    assert "both legs find what they are asked for" in capsys.readouterr().out


def test_bm25_that_lacks_chunks_is_refused_until_it_is_rebuilt(tmp_path: Path) -> None:
    folder = tmp_path / "i.crx"
    with crx.open(folder, settings=SETTINGS) as index:
        index.add_documents([DOCUMENT])
        seq = index.store.seq
    shutil.rmtree(folder / "derived" / "bm25")
    empty = _native.Lexical.open(str(folder / "derived" / "bm25"), write=True)
    empty.commit(seq)
    empty.close()
    with crx.open(folder) as index:
        with pytest.raises(Damaged, match=r"have 1 chunks, and BM25 has 0; .* `crx rebuild`"):
            index.search("fish")
        index.rebuild()
        assert [passage.uri for passage in index.search("fish")] == [DOCUMENT.uri]
