"""The model store, and the converter from a folder to a checked ONNX graph."""

from __future__ import annotations

import errno
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from tiny_model import HIDDEN, make_model, write_json

from crx.backends.onnx import OnnxEmbedder
from crx.errors import ModelError, NoRoom
from crx.models import ModelCard, add, available, find, remove, verify
from crx.models.convert import reference
from crx.models.convert.weights import read_weights
from crx.models.source_folder import read_folder
from crx.models.tokenizer import Tokens

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make the folder of a tiny model."""
    return lambda name="Tiny Model", **options: make_model(tmp_path / name, **options)


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path / "data"))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "prefix"))
    monkeypatch.setattr("crx.models.store._SHIPPED", tmp_path / "shipped")


# converting


def agrees(folder: Path, card: ModelCard, text: str = "the revenue of 第 二 grew") -> bool:
    read = read_folder(folder)
    shape = read.architecture()
    ids = Tokens(folder / "tokenizer.json", sequence=card.sequence).encode([text])[0]
    expected = reference.embed(ids, read_weights(read, shape), shape, read.pooling)
    return bool(OnnxEmbedder(find(card.name)).embed([text])[0] @ expected > 0.99999)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta", "distilbert"])
def test_a_family_gives_what_the_reference_gives(make: Make, family: str) -> None:
    folder = make(family=family)
    assert agrees(folder, add(folder))


@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token", "max_tokens", "lasttoken"])
def test_a_pooling_gives_what_the_reference_gives(make: Make, pooling: str) -> None:
    folder = make(pooling=pooling)
    assert agrees(folder, add(folder))


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
def test_an_activation_gives_what_the_reference_gives(make: Make, activation: str) -> None:
    folder = make(config={"hidden_act": activation})
    assert agrees(folder, add(folder))


def test_a_projection_follows_the_pooling(make: Make) -> None:
    folder = make(dense=8)
    card = add(folder)
    assert card.dimensions == 8
    assert agrees(folder, card)


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_a_reranker_is_converted_with_its_classifier(make: Make, family: str) -> None:
    card = add(make(family=family, head=True))
    assert (card.kind, card.pooling, card.dimensions) == ("reranker", "none", 1)
    with pytest.raises(ModelError, match="a reranker, not an embedder"):
        OnnxEmbedder(find(card.name))


def test_a_card_says_what_the_folder_says(make: Make) -> None:
    card = add(make())
    assert (card.name, card.kind, card.licence) == ("tiny-model", "embedder", "mit")
    assert (card.sequence, card.max_tokens, card.pooling) == (20, 18, "mean")
    assert (card.query_prefix, card.passage_prefix) == ("the ", "")
    assert sorted(card.files) == ["model.onnx", "tokenizer.json"]


def test_prefixes_can_be_given(make: Make) -> None:
    card = add(make(), query_prefix="of ", passage_prefix="the revenue ")
    assert (card.query_prefix, card.passage_prefix) == ("of ", "the revenue ")
    assert card.max_tokens == 16


def test_a_graph_that_disagrees_with_the_reference_is_refused(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx.models.convert.reference._pool", lambda x, _: x[0])
    with pytest.raises(ModelError, match=r"cosine .* to the reference"):
        add(make())
    assert available() == []


def test_a_graph_of_ones_own_gets_the_folders_pooling(make: Make, tmp_path: Path) -> None:
    whole = make("whole")
    expected = OnnxEmbedder(find(add(whole).name)).embed(["the revenue", "of"])
    bare = make("bare")
    write_bare_graph(find("whole") / "model.onnx", bare / "model.onnx")
    (bare / "model.safetensors").unlink()
    assert np.allclose(OnnxEmbedder(find(add(bare).name)).embed(["the revenue", "of"]), expected)


def write_bare_graph(source: Path, target: Path) -> None:
    """Take the pooling off a graph again: its output is the last layer's normalization."""
    model = onnx.load(source)
    at = max(i for i, node in enumerate(model.graph.node) if node.op_type == "LayerNormalization")
    del model.graph.node[at + 1 :]
    del model.graph.output[:]
    output = onnx.helper.make_tensor_value_info(
        model.graph.node[at].output[0], onnx.TensorProto.FLOAT, ["n", "length", HIDDEN]
    )
    model.graph.output.append(output)
    onnx.save(model, target)


# what is refused


def test_pickled_weights_are_refused(make: Make) -> None:
    folder = make()
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({}))
    with pytest.raises(ModelError, match="pickled weights can run code"):
        add(folder)


def test_an_unknown_family_is_refused_by_name(make: Make) -> None:
    with pytest.raises(ModelError, match="model type t5"):
        add(make(family="t5"))


def test_a_weight_of_another_shape_is_refused(make: Make) -> None:
    with pytest.raises(ModelError, match=r"config.json says \(10, 8\)"):
        add(make(config={"hidden_size": 8}))


def test_a_module_outside_the_folder_is_refused(make: Make) -> None:
    folder = make()
    listed = json.loads((folder / "modules.json").read_text())
    listed[1]["path"] = "../elsewhere"
    write_json(folder / "modules.json", listed)
    with pytest.raises(ModelError, match="outside of it"):
        add(folder)


def test_a_link_out_of_the_folder_is_refused(make: Make, tmp_path: Path) -> None:
    folder = make()
    (folder / "tokenizer.json").rename(tmp_path / "elsewhere.json")
    (folder / "tokenizer.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(ModelError, match="a link out of the folder"):
        add(folder)


@pytest.mark.parametrize("name", ["config.json", "modules.json", "tokenizer.json"])
def test_a_folder_without_a_file_is_refused_by_the_files_name(make: Make, name: str) -> None:
    folder = make()
    (folder / name).unlink()
    with pytest.raises(ModelError, match=rf"{name}: no such file"):
        add(folder)


# the store


def test_what_is_added_is_available_until_it_is_removed(make: Make) -> None:
    card = add(make())
    assert available() == [card]
    assert verify("tiny-model") == card
    remove("tiny-model")
    assert available() == []
    assert list((find_place()).iterdir()) == []


def test_a_model_that_comes_with_crx_is_found_and_not_removed(make: Make, tmp_path: Path) -> None:
    add(make(), into=tmp_path / "shipped")
    assert find("tiny-model") == tmp_path / "shipped" / "tiny-model"
    with pytest.raises(ModelError, match="tiny-model: comes with crx, and is not removed"):
        remove("tiny-model")


def test_a_model_that_a_package_carries_is_missing_with_the_command_that_fetches_it() -> None:
    with pytest.raises(ModelError, match=r"minilm: no such model; .* crx models pull minilm$"):
        find("minilm")


def test_only_what_the_store_holds_is_removed(make: Make, tmp_path: Path) -> None:
    add(make(), into=tmp_path / "elsewhere")
    with pytest.raises(ModelError, match="no such model in the store"):
        remove(str(tmp_path / "elsewhere" / "tiny-model"))
    assert find(str(tmp_path / "elsewhere" / "tiny-model")).is_dir()


def find_place() -> Path:
    return Path(os.environ["CRX_MODELS"])


def test_both_precisions_stand_side_by_side(make: Make) -> None:
    folder = make()
    add(folder, name="tiny")
    add(folder, name="tiny", precision="int8")
    assert [(card.name, card.precision) for card in available()] == [
        ("tiny", "fp32"),
        ("tiny@int8", "int8"),
    ]
    assert len({card.fingerprint for card in available()}) == 2


def test_adding_again_replaces(make: Make) -> None:
    first = add(make("one"), name="tiny")
    second = add(make("two", seed=1), name="tiny")
    assert available() == [second]
    assert first.fingerprint != second.fingerprint


def test_a_folder_that_is_no_model_is_never_replaced(make: Make, tmp_path: Path) -> None:
    source = make("tiny")
    with pytest.raises(ModelError, match="not a model, and not replaced"):
        add(source, into=tmp_path)
    assert (source / "config.json").is_file()


def test_the_same_folder_gives_the_same_files(make: Make) -> None:
    folder = make()
    assert add(folder, name="one").files == add(folder, name="two").files


def test_the_first_place_wins(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(make("one"), name="tiny", into=tmp_path / "far")
    near = add(make("two", seed=1), name="tiny", into=tmp_path / "near")
    places = os.pathsep.join([str(tmp_path / "near"), str(tmp_path / "far")])
    monkeypatch.setenv("CRX_MODELS", places)
    assert available() == [near]
    assert find("tiny") == tmp_path / "near" / "tiny"


def test_a_model_is_found_by_its_folder(make: Make, tmp_path: Path) -> None:
    add(make(), into=tmp_path / "elsewhere")
    folder = tmp_path / "elsewhere" / "tiny-model"
    assert find(str(folder)) == folder


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_damaged_file_is_named_before_it_is_loaded(make: Make, name: str) -> None:
    path = find(add(make()).name) / name
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ModelError, match=rf"{name}: damaged.*crx models add"):
        OnnxEmbedder(find("tiny-model"))


def test_a_missing_file_is_named(make: Make) -> None:
    (find(add(make()).name) / "model.onnx").unlink()
    with pytest.raises(ModelError, match=r"model.onnx: no such file"):
        verify("tiny-model")


def test_an_unknown_name_lists_what_is_here(make: Make) -> None:
    add(make())
    with pytest.raises(ModelError, match="bge: no such model; here: tiny-model; add one"):
        find("bge")


@pytest.mark.parametrize("name", ["../tiny", "a/b", "tiny@int8", "", "-"])
def test_a_name_that_is_no_name_is_refused(make: Make, name: str) -> None:
    folder = make("!" if not name else "source")
    with pytest.raises(ModelError, match="not a name"):
        add(folder, name=name)


def test_a_full_disk_leaves_nothing_behind(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("crx.models.store.write_card", full)
    with pytest.raises(NoRoom, match="no space left on device; make room"):
        add(make())
    assert list(find_place().iterdir()) == []
