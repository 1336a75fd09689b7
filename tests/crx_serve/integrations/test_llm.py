"""The plugin of `llm`: fragments, the tool and the embedder, as `llm` finds them."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx._index.reader import IndexReader, open_reader
from crx.errors import UsageError

pytest.importorskip("llm")

import llm
from llm.plugins import load_plugins

from crx_serve.integrations.llm_plugin import crx_search


@pytest.fixture(autouse=True)
def here(index: crx.Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The index that `CRX_INDEX` names, and settings of `llm` of its own."""
    monkeypatch.setenv("CRX_INDEX", index.name)
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    load_plugins()


def test_a_query_becomes_fragments_with_their_sources() -> None:
    (first, *_) = llm.get_fragment_loaders()["crx"]("humpback song")
    assert isinstance(first, llm.Fragment)
    assert first.startswith(f"[1] {first.source}, lines ")
    assert "humpback" in first.lower()


def test_a_model_can_search(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert llm.get_tools()["crx_search"] is not None
    assert crx_search("humpback song").startswith("[1] ")
    monkeypatch.chdir(tmp_path)
    with crx.open("empty.crx", settings={"embedder": "none"}):
        monkeypatch.setenv("CRX_INDEX", "empty.crx")
        assert crx_search("humpback song") == "nothing found"


def test_the_embedder_of_the_index_is_a_model(index: crx.Index) -> None:
    model = llm.get_embedding_model("crx")
    (vector,) = model.embed_multi(["humpback song"])
    assert vector == pytest.approx(index.embedder.embed(["humpback song"])[0].tolist())


def test_the_embedder_is_loaded_once_for_all_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_counted(folder: str) -> IndexReader:
        opened.append(folder)
        return open_reader(folder)

    monkeypatch.setattr("crx_serve.integrations.llm_plugin.open_reader", open_counted)
    model = llm.get_embedding_model("crx")
    assert len(list(model.embed_multi(["krill"] * 70))) == 70
    assert len(opened) == 1


def test_without_an_index_the_error_names_the_next_step(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CRX_INDEX")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match='no index here or above; "crx index PATH" makes one'):
        crx_search("krill")
