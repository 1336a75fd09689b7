"""The first load of a model that came from another machine, in a child process within limits."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hostile_models import endless
from tiny_export import make_exported_embedder, make_exported_reranker
from tiny_model import make_model

from crx._models.card import GRAPH_FILE, TOKENIZER_FILE, file_digest, write_card
from crx._models.source_folder import Overrides
from crx._models.store import add_model
from crx.errors import ModelError
from crx.registry import load_embedder, load_reranker


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a user who has no record of models; return the store."""
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    monkeypatch.setenv("CRX_HOME", str(tmp_path / "home"))
    return tmp_path / "store"


def bring(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the models of the store be those of another user."""
    monkeypatch.setenv("CRX_HOME", str(machine.with_name("other home")))


def make_named_reranker(folder: Path) -> Path:
    made = make_exported_reranker(folder)
    config = {"architectures": ["BertForSequenceClassification"], "max_position_embeddings": 24}
    (made / "config.json").write_text(json.dumps({**config, "model_type": "bert"}))
    return made


def refuse_children(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("crx._models.limited_child.Child", refuse)


def test_a_model_that_was_made_here_is_loaded_without_a_child(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_model(make_model(tmp_path / "tiny"))
    refuse_children(monkeypatch)
    assert load_embedder("tiny").dimensions == 16


def test_a_model_from_elsewhere_is_loaded_by_a_child_once(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_model(make_model(tmp_path / "tiny"))
    bring(machine, monkeypatch)
    with monkeypatch.context() as patch:
        refuse_children(patch)
        with pytest.raises(AssertionError):
            load_embedder("tiny")
    assert load_embedder("tiny").dimensions == 16
    refuse_children(monkeypatch)
    assert load_embedder("tiny").dimensions == 16


def test_a_model_from_elsewhere_whose_files_have_changed_is_tried_again(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_model(make_model(tmp_path / "tiny"))
    add_model(make_model(tmp_path / "other", pooling="cls_token"))
    bring(machine, monkeypatch)
    load_embedder("tiny")
    shutil.rmtree(machine / "tiny")
    (machine / "other").rename(machine / "tiny")
    refuse_children(monkeypatch)
    with pytest.raises(AssertionError):
        load_embedder("tiny")


def test_a_model_that_one_backend_has_tried_is_tried_again_by_another(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_model(make_model(tmp_path / "tiny"))
    load_embedder("tiny")
    refuse_children(monkeypatch)
    with pytest.raises(AssertionError):
        load_embedder("openvino:tiny")


def test_a_graph_from_elsewhere_that_never_ends_is_ended(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_exported_embedder(tmp_path / "tiny", precision="fp32")
    card = add_model(made, overrides=Overrides(kind="embedder", pooling="mean", sequence=24))
    graph = endless(tmp_path / "endless") / GRAPH_FILE
    shutil.copy(graph, machine / "tiny" / GRAPH_FILE)
    files = {**card.files, GRAPH_FILE: file_digest(graph)}
    write_card(machine / "tiny", replace(card, files=files))
    monkeypatch.setattr("crx._models.limited_child._WALL_S", 4)
    with pytest.raises(ModelError, match=r"tiny: takes more than 4 s; it is not loaded"):
        load_embedder("tiny")


def test_a_reranker_in_a_folder_that_is_named_is_loaded_by_a_child(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = make_named_reranker(tmp_path / "judge")
    with monkeypatch.context() as patch:
        refuse_children(patch)
        with pytest.raises(AssertionError):
            load_reranker(f"onnx:{judge}")
    assert load_reranker(f"onnx:{judge}").score("revenue", ["the"]).shape == (1,)


def test_the_files_of_a_reranker_that_is_named_are_hashed_once(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = make_named_reranker(tmp_path / "judge")
    load_reranker(f"onnx:{judge}")
    hashed: list[str] = []

    def count(path: Path) -> str:
        hashed.append(path.name)
        return file_digest(path)

    monkeypatch.setattr("crx._models.card.file_digest", count)
    monkeypatch.setattr("crx._models.onnx_folder.file_digest", count)
    load_reranker(f"onnx:{judge}")
    assert sorted(hashed) == [GRAPH_FILE, TOKENIZER_FILE]
