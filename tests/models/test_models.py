"""The model store, and the conversion of model folders to ONNX graphs."""

from __future__ import annotations

import errno
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file
from tiny_model import make_model, write_json

from crx._backends.onnx import OnnxEmbedder
from crx._models.card import ModelCard
from crx._models.source_folder import Overrides, read_folder
from crx._models.store import add_model, find_model, read_cards, remove_model, verify_model
from crx._models.tokenizer import ModelTokenizer
from crx.errors import ModelError, NoRoom, NotInstalled, UsageError
from crx_convert import reference
from crx_convert.weights import read_weights

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make the folder of a tiny model."""
    return lambda name="Tiny Model", **options: make_model(tmp_path / name, **options)


@pytest.fixture(autouse=True)
def _own_store_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path / "data"))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "prefix"))
    monkeypatch.setattr("crx._models.store.SHIPPED", tmp_path / "shipped")


# Conversion


def agrees_with_reference(
    folder: Path, card: ModelCard, text: str = "the revenue of 第 二 grew"
) -> bool:
    read = read_folder(folder)
    shape = read.architecture()
    ids = ModelTokenizer(folder / "tokenizer.json", sequence=card.sequence).encode([text])[0]
    expected = reference.embed(ids, read_weights(read, shape), shape, read.pooling)
    return bool(OnnxEmbedder(find_model(card.name)).embed([text])[0] @ expected > 0.99999)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta", "distilbert"])
def test_each_family_agrees_with_the_reference(make: Make, family: str) -> None:
    folder = make(family=family)
    assert agrees_with_reference(folder, add_model(folder))


@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token", "max_tokens", "lasttoken"])
def test_each_pooling_agrees_with_the_reference(make: Make, pooling: str) -> None:
    folder = make(pooling=pooling)
    assert agrees_with_reference(folder, add_model(folder))


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
def test_each_activation_agrees_with_the_reference(make: Make, activation: str) -> None:
    folder = make(config={"hidden_act": activation})
    assert agrees_with_reference(folder, add_model(folder))


def test_a_projection_is_applied_after_pooling(make: Make) -> None:
    folder = make(dense=8)
    card = add_model(folder)
    assert card.dimensions == 8
    assert agrees_with_reference(folder, card)


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_a_reranker_is_converted_with_its_classifier(make: Make, family: str) -> None:
    card = add_model(make(family=family, head=True))
    assert (card.kind, card.pooling, card.dimensions) == ("reranker", "none", 1)
    with pytest.raises(ModelError, match="a reranker, not an embedder"):
        OnnxEmbedder(find_model(card.name))


def test_a_card_has_the_properties_of_the_folder(make: Make) -> None:
    card = add_model(make())
    assert (card.name, card.kind, card.licence) == ("tiny-model", "embedder", "mit")
    assert (card.sequence, card.max_tokens, card.pooling) == (20, 18, "mean")
    assert (card.query_prefix, card.passage_prefix) == ("the ", "")
    assert sorted(card.files) == ["model.onnx", "tokenizer.json"]


def test_given_prefixes_replace_those_of_the_folder(make: Make) -> None:
    prefixes = Overrides(query_prefix="of ", passage_prefix="the revenue ")
    card = add_model(make(), overrides=prefixes)
    assert (card.query_prefix, card.passage_prefix) == ("of ", "the revenue ")
    assert card.max_tokens == 16


def test_a_graph_that_differs_from_the_reference_is_refused(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx_convert.reference._pool", lambda x, _: x[0])
    with pytest.raises(ModelError, match=r"cosine .* to the reference"):
        add_model(make())
    assert read_cards() == []


# Refused folders


def test_pickled_weights_are_refused(make: Make) -> None:
    folder = make()
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({}))
    with pytest.raises(ModelError, match="pickled weights can run code"):
        add_model(folder)


def test_a_licence_that_forbids_commercial_use_is_asked_for(make: Make) -> None:
    folder = make()
    (folder / "README.md").write_text("---\nlicense: cc-by-nc-4.0\n---\n")
    with pytest.raises(UsageError, match=r"forbids commercial use; .* --accept-licence cc-by-nc-4"):
        add_model(folder)
    assert add_model(folder, accepted_licence="cc-by-nc-4.0").licence == "cc-by-nc-4.0"


def test_the_name_of_another_licence_is_read(make: Make) -> None:
    folder = make()
    (folder / "README.md").write_text("---\nlicense: other\nlicense_name: x-non-commercial\n---\n")
    with pytest.raises(UsageError, match="--accept-licence x-non-commercial"):
        add_model(folder)


def test_an_unsupported_model_type_is_refused(make: Make) -> None:
    with pytest.raises(ModelError, match="model type t5"):
        add_model(make(family="t5"))


def test_a_model_with_code_of_its_own_is_refused(make: Make) -> None:
    with pytest.raises(ModelError, match=r"needs code of its own \(auto_map\), which is not run"):
        add_model(make(config={"auto_map": {"AutoModel": "modeling.Model"}}))


def test_a_header_of_a_gigabyte_is_refused(make: Make) -> None:
    folder = make()
    (folder / "model.safetensors").write_bytes((1 << 30).to_bytes(8, "little") + b"{")
    with pytest.raises(ModelError, match=r"model\.safetensors: not readable \(.*header"):
        add_model(folder)


def test_a_token_beyond_the_table_is_refused(make: Make) -> None:
    folder = make()
    path = folder / "tokenizer.json"
    config = json.loads(path.read_text())
    config["model"]["vocab"]["grew"] = 5000
    write_json(path, config)
    with pytest.raises(ModelError, match="the tokenizer has 5001 tokens, the weights 10"):
        add_model(folder)


def test_weights_that_are_not_finite_are_refused(make: Make) -> None:
    folder = make()
    weights = load_file(folder / "model.safetensors")
    weights["embeddings.LayerNorm.weight"][0] = float("nan")
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ModelError, match="cosine nan to the reference"):
        add_model(folder)


def test_a_tensor_of_the_wrong_shape_is_refused(make: Make) -> None:
    with pytest.raises(ModelError, match=r"shape \(10, 16\), not \(10, 8\)"):
        add_model(make(config={"hidden_size": 8}))


def test_a_module_outside_the_folder_is_refused(make: Make) -> None:
    folder = make()
    listed = json.loads((folder / "modules.json").read_text())
    listed[1]["path"] = "../elsewhere"
    write_json(folder / "modules.json", listed)
    with pytest.raises(ModelError, match="outside of it"):
        add_model(folder)


def test_a_link_out_of_the_folder_is_refused(make: Make, tmp_path: Path) -> None:
    folder = make()
    (folder / "tokenizer.json").rename(tmp_path / "elsewhere.json")
    (folder / "tokenizer.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(ModelError, match="a link out of the folder"):
        add_model(folder)


@pytest.mark.parametrize("name", ["config.json", "modules.json", "tokenizer.json"])
def test_a_missing_file_of_a_folder_is_named(make: Make, name: str) -> None:
    folder = make()
    (folder / name).unlink()
    with pytest.raises(ModelError, match=rf"{name}: no such file"):
        add_model(folder)


# The store


def test_an_added_model_is_listed_until_it_is_removed(make: Make) -> None:
    card = add_model(make())
    assert read_cards() == [card]
    assert verify_model("tiny-model") == card
    remove_model("tiny-model")
    assert read_cards() == []
    assert list(store_folder().iterdir()) == []


def test_a_shipped_model_is_found_and_cannot_be_removed(make: Make, tmp_path: Path) -> None:
    add_model(make(), into=tmp_path / "shipped")
    assert find_model("tiny-model") == tmp_path / "shipped" / "tiny-model"
    with pytest.raises(ModelError, match="tiny-model: shipped with crx and cannot be removed"):
        remove_model("tiny-model")


def test_the_error_for_a_missing_pullable_model_names_the_pull_command() -> None:
    with pytest.raises(ModelError, match=r"minilm: no such model; .* crx models pull minilm$"):
        find_model("minilm")


def test_a_model_outside_the_search_path_is_not_removed(make: Make, tmp_path: Path) -> None:
    add_model(make(), into=tmp_path / "elsewhere")
    with pytest.raises(ModelError, match="no such model in the store"):
        remove_model(str(tmp_path / "elsewhere" / "tiny-model"))
    assert find_model(str(tmp_path / "elsewhere" / "tiny-model")).is_dir()


def store_folder() -> Path:
    return Path(os.environ["CRX_MODELS"])


def test_both_precisions_of_a_model_can_be_installed(make: Make) -> None:
    folder = make()
    add_model(folder, name="tiny")
    add_model(folder, name="tiny", precision="int8")
    assert [(card.name, card.precision) for card in read_cards()] == [
        ("tiny", "fp32"),
        ("tiny@int8", "int8"),
    ]
    assert len({card.fingerprint for card in read_cards()}) == 2


def test_a_model_that_is_installed_in_int8_alone_is_named(make: Make) -> None:
    add_model(make(), name="tiny", precision="int8")
    with pytest.raises(NotInstalled, match="installed in int8 alone, as tiny@int8"):
        find_model("tiny")


def test_adding_a_name_again_replaces_the_model(make: Make) -> None:
    first = add_model(make("one"), name="tiny")
    second = add_model(make("two", seed=1), name="tiny")
    assert read_cards() == [second]
    assert first.fingerprint != second.fingerprint


def test_a_folder_that_is_not_a_model_is_not_replaced(make: Make, tmp_path: Path) -> None:
    source = make("tiny")
    with pytest.raises(ModelError, match="not a model, so it is not replaced"):
        add_model(source, into=tmp_path)
    assert (source / "config.json").is_file()


def test_the_same_folder_gives_the_same_files(make: Make) -> None:
    folder = make()
    assert add_model(folder, name="one").files == add_model(folder, name="two").files


def test_the_first_folder_of_the_search_path_wins(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_model(make("one"), name="tiny", into=tmp_path / "far")
    near = add_model(make("two", seed=1), name="tiny", into=tmp_path / "near")
    places = os.pathsep.join([str(tmp_path / "near"), str(tmp_path / "far")])
    monkeypatch.setenv("CRX_MODELS", places)
    assert read_cards() == [near]
    assert find_model("tiny") == tmp_path / "near" / "tiny"


def test_a_model_is_found_by_the_path_of_its_folder(make: Make, tmp_path: Path) -> None:
    add_model(make(), into=tmp_path / "elsewhere")
    folder = tmp_path / "elsewhere" / "tiny-model"
    assert find_model(str(folder)) == folder


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_damaged_file_is_named_before_it_is_loaded(make: Make, name: str) -> None:
    path = find_model(add_model(make()).name) / name
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ModelError, match=rf"{name}: damaged.*crx models add"):
        OnnxEmbedder(find_model("tiny-model"))


def test_a_missing_file_is_named(make: Make) -> None:
    (find_model(add_model(make()).name) / "model.onnx").unlink()
    with pytest.raises(ModelError, match=r"model.onnx: no such file"):
        verify_model("tiny-model")


def test_an_unknown_name_lists_the_installed_models(make: Make) -> None:
    add_model(make())
    with pytest.raises(ModelError, match="bge: no such model; installed: tiny-model; add one"):
        find_model("bge")


def test_a_gguf_file_is_no_embedder(tmp_path: Path) -> None:
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"tiny\.gguf: a GGUF file is no embedder .* llama-server"):
        find_model(str(file))
    with pytest.raises(ModelError, match=r"tiny\.gguf: a file; name the folder"):
        add_model(file)


@pytest.mark.parametrize("name", ["../tiny", "a/b", "tiny@int8", "", "-"])
def test_an_invalid_name_is_refused(make: Make, name: str) -> None:
    folder = make("!" if not name else "source")
    with pytest.raises(ModelError, match="not a valid name"):
        add_model(folder, name=name)


def test_a_full_disk_leaves_nothing_behind(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("crx._models.store.write_card", full)
    with pytest.raises(NoRoom, match="no space left on device; free space"):
        add_model(make())
    assert list(store_folder().iterdir()) == []
