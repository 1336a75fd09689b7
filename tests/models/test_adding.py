"""Models that anybody may have made, added in a child process within limits."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hostile_models import endless, greedy, make_hostile
from onnx import helper
from tiny_export import make_exported_embedder
from tiny_model import make_model

from crx._models.adding import add_foreign_model
from crx._models.source_folder import Overrides
from crx._models.store import add_model, find_model
from crx.errors import ModelError

EMBEDDER = Overrides(kind="embedder", pooling="mean", sequence=24)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    return tmp_path / "store"


def test_a_model_is_added_as_in_this_process(tmp_path: Path, store: Path) -> None:
    made = make_model(tmp_path / "tiny")
    card = add_foreign_model(made)
    assert add_model(made, into=tmp_path / "other") == card
    assert find_model("tiny") == store / "tiny"


def test_a_model_that_is_refused_is_refused_in_the_same_words(tmp_path: Path, store: Path) -> None:
    with pytest.raises(ModelError) as here:
        add_model(tmp_path / "none")
    with pytest.raises(type(here.value)) as there:
        add_foreign_model(tmp_path / "none")
    assert str(there.value) == str(here.value)


@pytest.mark.parametrize(
    ("limit", "seconds", "told"),
    [("_CPU_S", 4, "takes more than 4 s of the processor"), ("_WALL_S", 3, "takes more than 3 s;")],
)
def test_a_graph_without_an_end_is_ended_and_nothing_is_left(
    tmp_path: Path,
    store: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    seconds: int,
    told: str,
) -> None:
    monkeypatch.setattr(f"crx._models.limited_child.{limit}", seconds)
    with pytest.raises(ModelError, match=f"endless: {told}"):
        add_foreign_model(endless(tmp_path / "endless"), overrides=EMBEDDER)
    assert list(store.iterdir()) == []


def test_what_the_runtime_raises_is_one_line(tmp_path: Path, store: Path) -> None:
    nodes = [helper.make_node("Gather", ["few", "far"], ["waited"])]
    few, far = np.zeros(2, np.float32), np.array(9)
    make_hostile(tmp_path / "failing", nodes, few=few, far=far)
    with pytest.raises(ModelError, match=r"^model\.onnx: .*ONNX Runtime \(.*\)$"):
        add_foreign_model(tmp_path / "failing", overrides=EMBEDDER)


def test_a_graph_that_asks_for_more_memory_than_its_size_needs_is_refused(
    tmp_path: Path, store: Path
) -> None:
    with pytest.raises(ModelError, match=r"Failed to allocate memory .* of size 16000000000"):
        add_foreign_model(greedy(tmp_path / "greedy"), overrides=EMBEDDER)
    assert list(store.iterdir()) == []


@pytest.mark.parametrize("target", ["", "/dev/zero"])
def test_a_pipe_or_a_device_that_is_called_a_graph_is_not_opened(
    tmp_path: Path, store: Path, target: str
) -> None:
    graph = make_exported_embedder(tmp_path / "tiny") / "model.onnx"
    graph.unlink()
    if target:
        graph.symlink_to(target)
    else:
        os.mkfifo(graph)
    with pytest.raises(ModelError, match=r"model\.onnx: a pipe or a device, and no file"):
        add_foreign_model(tmp_path / "tiny", overrides=EMBEDDER)
