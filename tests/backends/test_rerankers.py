"""Contract of the rerankers, and loading them by name."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optional import installed
from tiny_model import WORDS, make_model

from crx._models.card import read_card
from crx._models.cross_encoder import PairEncoder
from crx._models.source_folder import read_folder
from crx._models.store import add_model, find_model
from crx.errors import ModelError
from crx.protocols import LanguageLimited, Reranker
from crx.registry import load_reranker
from crx_convert import reference
from crx_convert.weights import read_weights

TEXTS = ["the revenue grew", "", "第二", "of", "the " * 60 + "revenue", "grew of the", "\n\n"]
SPECS = [
    "overlap",
    "tiny",
    "onnx:tiny",
    "tiny@int8",
    "onnx:{folder}/bare",
    pytest.param("st:{folder}/tiny", marks=[pytest.mark.st, installed("sentence_transformers")]),
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a reranker's folder with weights, and one with only an ONNX file and a tokenizer."""
    place = tmp_path_factory.mktemp("source")
    make_model(place / "tiny", head=True)
    bare = make_model(place / "bare", head=True)
    add_model(bare, into=place / "graphs")
    (bare / "onnx").mkdir()
    (place / "graphs" / "bare" / "model.onnx").rename(bare / "onnx" / "model.onnx")
    (bare / "model.safetensors").unlink()
    return place


@pytest.fixture(scope="session", autouse=True)
def store(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("store")
    add_model(folder / "tiny", into=place)
    add_model(folder / "tiny", into=place, precision="int8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRX_MODELS", str(place))
        patch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(place / "none"))
        patch.setattr("sys.prefix", str(place / "none"))
        yield place


@pytest.fixture(scope="session", params=SPECS)
def reranker(request: pytest.FixtureRequest, folder: Path, store: Path) -> Reranker:
    return load_reranker(request.param.format(folder=folder))


# the contract


def test_scores_are_float32_between_0_and_1(reranker: Reranker) -> None:
    scores = reranker.score("the revenue", TEXTS)
    assert scores.shape == (len(TEXTS),)
    assert scores.dtype == np.float32
    assert ((scores > 0) & (scores < 1)).all()


def test_no_texts_give_no_scores(reranker: Reranker) -> None:
    assert reranker.score("the revenue", []).shape == (0,)


def test_a_score_does_not_depend_on_the_other_texts(reranker: Reranker) -> None:
    together = reranker.score("revenue", TEXTS * 3)
    alone = np.concatenate([reranker.score("revenue", [text]) for text in TEXTS * 3])
    assert np.abs(together - alone).max() <= 1e-6


def test_a_score_depends_on_the_query(reranker: Reranker) -> None:
    first, second = (reranker.score(query, TEXTS[:4]) for query in ("revenue grew", "第二"))
    assert np.abs(first - second).max() > 1e-3


def test_a_fingerprint_identifies_the_backend_and_the_model(reranker: Reranker) -> None:
    assert reranker.fingerprint.partition(":")[0] in ("overlap", "onnx", "st")
    other = load_reranker("tiny@int8").fingerprint
    assert reranker.fingerprint != other or "int8" in reranker.fingerprint


# onnx


@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_a_score_is_the_sigmoid_of_the_references_logit(
    family: str, labels: int, tmp_path: Path
) -> None:
    folder = make_model(tmp_path / "one", family=family, head=True, labels=labels, seed=3)
    card = add_model(folder, into=tmp_path / "store")
    read = read_folder(folder)
    shape = read.architecture()
    if family == "bert":
        words, segments = "[CLS] the [SEP] revenue grew [SEP]", [0, 0, 0, 1, 1, 1]
    else:
        words, segments = "[CLS] the [SEP] [SEP] revenue grew [SEP]", [0] * 7
    ids = np.array([WORDS.index(word) for word in words.split()])
    logit = reference.score(ids, np.array(segments), read_weights(read, shape), shape)
    found = load_reranker(str(tmp_path / "store" / card.name)).score("the", ["revenue grew"])
    assert found == pytest.approx([1 / (1 + np.exp(-logit))], abs=2e-3)


@pytest.mark.parametrize("spec", ["tiny", "tiny@int8"])
def test_a_score_is_the_same_to_the_last_bit_in_any_batch(spec: str) -> None:
    model = load_reranker(spec)
    texts = [f"{'the ' * (at % 9)}{'of ' * (at % 3)}grew" for at in range(60)]
    together = model.score("revenue", texts)
    assert (together == [model.score("revenue", [text])[0] for text in texts]).all()


def test_the_logits_of_an_int8_graph_do_not_depend_on_their_batch(store: Path) -> None:
    session = onnxruntime.InferenceSession(str(store / "tiny@int8" / "model.onnx"))
    ids = np.random.default_rng(3).integers(0, len(WORDS), (12, 9))
    rows = {
        each.name: ids if each.name == "input_ids" else 0 * ids for each in session.get_inputs()
    }
    (together,) = session.run(["logits"], rows)
    alone = [
        session.run(["logits"], {name: row[at : at + 1] for name, row in rows.items()})[0][0]
        for at in range(len(ids))
    ]
    assert np.ptp(together) > 1e-3
    assert together == pytest.approx(alone, abs=1e-6)


def test_an_int8_reranker_stores_its_word_table_as_int8(store: Path) -> None:
    held = {
        name: [(each.data_type, *each.dims) for each in onnx.load(path).graph.initializer]
        for name in ("tiny", "tiny@int8")
        for path in [store / name / "model.onnx"]
    }
    rows = next(shape for shape in held["tiny"] if shape[1] == len(WORDS))
    table = (onnx.TensorProto.INT8, *rows[1:])
    assert (table in held["tiny"], table in held["tiny@int8"]) == (False, True)
    assert load_reranker("tiny@int8").score("the", TEXTS) == pytest.approx(
        load_reranker("tiny").score("the", TEXTS), abs=0.02
    )


def test_scores_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = []
    for count in ("1", "3"):
        monkeypatch.setenv("CRX_THREADS", count)
        scores.append(load_reranker("tiny").score("revenue", TEXTS * 5))
    assert (scores[0] == scores[1]).all()


def test_a_text_longer_than_the_window_scores_as_its_best_window() -> None:
    model = load_reranker("tiny")  # 20 tokens: 3 special ones and the query leave 15
    windows = ["the " * 15, "of " * 15, "grew " * 15]
    scores = model.score("revenue of", windows)
    assert model.score("revenue of", ["".join(windows)]) == scores.max() > scores.min()


@given(st.lists(st.integers(0, 60), max_size=8), st.integers(0, 10))
def test_windows_hold_every_token_of_query_and_text(lengths: list[int], asked: int) -> None:
    pairs = PairEncoder(find_model("tiny") / "tokenizer.json", sequence=20)
    texts = ["revenue of " * (length // 2) + "grew" * (length % 2) for length in lengths]
    grew, the = WORDS.index("grew"), WORDS.index("the")
    for text, windows in zip(texts, pairs.encode_windows("the " * asked, texts), strict=True):
        read = [pair.ids[pair.segment_ids == 1][:-1].tolist() for pair in windows]
        assert [WORDS[at] for ids in read for at in ids] == text.split()
        assert all(len(pair.ids) <= 20 for pair in windows)
        assert all((pair.ids == the).sum() == asked for pair in windows)
        assert not any(grew in ids for ids in read[:-1])


def test_a_query_that_fills_the_window_is_an_error() -> None:
    with pytest.raises(ModelError, match="the query takes 19 of the 20 tokens"):
        load_reranker("tiny").score("the " * 16, ["revenue"])


def bare_copy(folder: Path, target: Path, *, output: Sequence[object]) -> Path:
    """Copy the bare folder, with an output of one scaled logit a label."""
    target.mkdir()
    for path in (folder / "bare").glob("*.json"):
        (target / path.name).write_bytes(path.read_bytes())
    model = onnx.load(folder / "bare" / "onnx" / "model.onnx")
    shape = onnx.numpy_helper.from_array(np.array([-1, len(output)], np.int64), "shape_of_labels")
    model.graph.initializer.append(shape)
    parts = []
    for at, scale in enumerate(output):
        name = f"scale_{at}"
        value = np.array(scale, np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
        parts.append(f"label_{at}")
        model.graph.node.append(onnx.helper.make_node("Mul", ["logits", name], [parts[-1]]))
    axis = onnx.numpy_helper.from_array(np.array([1], np.int64), "axis_of_labels")
    model.graph.initializer.append(axis)
    columns = [f"{part}_column" for part in parts]
    for part, column in zip(parts, columns, strict=True):
        node = onnx.helper.make_node("Unsqueeze", [part, "axis_of_labels"], [column])
        model.graph.node.append(node)
    model.graph.node.append(onnx.helper.make_node("Concat", columns, ["labels"], axis=1))
    del model.graph.output[:]
    value_info = onnx.helper.make_tensor_value_info(
        "labels", onnx.TensorProto.FLOAT, ["n", len(output)]
    )
    model.graph.output.append(value_info)
    onnx.save(model, target / "model.onnx")
    return target


@pytest.mark.parametrize("output", [[1.0], [-0.25, 0.75]])
def test_a_custom_graph_may_have_one_label_or_two(
    output: list[float], folder: Path, tmp_path: Path
) -> None:
    bare = bare_copy(folder, tmp_path / "own", output=output)
    found = load_reranker(f"onnx:{bare}").score("revenue", TEXTS)
    assert found == pytest.approx(load_reranker("tiny").score("revenue", TEXTS), abs=1e-6)
    add_model(bare, name="own", into=tmp_path / "store")
    kept = load_reranker(str(tmp_path / "store" / "own"))
    assert (kept.score("revenue", TEXTS) == found).all()


def test_a_graph_of_three_labels_is_refused(folder: Path, tmp_path: Path) -> None:
    bare = bare_copy(folder, tmp_path / "own", output=[1.0, 2.0, 3.0])
    with pytest.raises(ModelError, match=r"the shape \(1, 3\), not one or two labels per pair"):
        load_reranker(f"onnx:{bare}")


def test_a_graph_of_unknown_inputs_is_refused_by_their_names(folder: Path, tmp_path: Path) -> None:
    bare = bare_copy(folder, tmp_path / "own", output=[1.0])
    model = onnx.load(bare / "model.onnx")
    extra = onnx.helper.make_tensor_value_info("pixels", onnx.TensorProto.INT64, ["n"])
    model.graph.input.append(extra)
    onnx.save(model, bare / "model.onnx")
    with pytest.raises(
        ModelError, match="the graph needs the inputs pixels, which crx does not provide"
    ):
        load_reranker(f"onnx:{bare}")


def test_a_missing_gpu_provider_is_an_error() -> None:
    with pytest.raises(ModelError, match="cuda: this onnxruntime has no CUDAExecutionProvider"):
        load_reranker("tiny:device=cuda")


def test_a_folder_without_an_onnx_graph_names_the_command_that_converts_it(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"no ONNX graph; convert it with crx models add"):
        load_reranker(f"onnx:{folder / 'tiny'}")


def test_a_card_lists_the_languages_of_the_source_folder(tmp_path: Path) -> None:
    for name, front in {"one": "language: en", "two": "language:\n- en\n- fr"}.items():
        folder = make_model(tmp_path / name, head=True)
        (folder / "README.md").write_text(f"---\nlicense: mit\n{front}\n---\n")
    cards = [add_model(tmp_path / name, into=tmp_path / "store") for name in ("one", "two")]
    assert [card.languages for card in cards] == [("en",), ("en", "fr")]
    assert [read_card(tmp_path / "store" / card.name) for card in cards] == cards


def test_a_missing_package_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ModelError, match=r'pip install "crx\[st\]"'):
        load_reranker("st:tiny")


# names


def test_the_shipped_reranker_ranks_an_answer_first() -> None:
    reranker = load_reranker("crx")
    assert isinstance(reranker, LanguageLimited)
    assert reranker.languages == ("en",)
    query = "when may either party end the agreement?"
    answer = "Either party may terminate this Agreement upon thirty days' written notice."
    others = [
        "The fee is payable within ten days.",
        "This Agreement is governed by the laws of Delaware.",
    ]
    scores = reranker.score(query, [answer, *others])
    assert scores[0] > 2 * scores[1:].max()


def test_a_model_of_ones_own_named_crx_takes_the_place_of_the_shipped_one(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(store / "tiny@int8", tmp_path / "own" / "crx")
    monkeypatch.setenv("CRX_MODELS", f"{tmp_path / 'own'}{os.pathsep}{store}")
    assert load_reranker("crx").fingerprint == load_reranker("tiny@int8").fingerprint


def test_an_unknown_name_lists_the_installed_models() -> None:
    with pytest.raises(
        ModelError, match="bge: no such model; installed: crx, tiny, tiny@int8; add one"
    ):
        load_reranker("bge")


def test_a_reranker_of_another_package_is_loaded_by_its_entry_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plug = EntryPoint("mine", "crx_runtimes.overlap:load_reranker", "crx.rerankers")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [plug])
    assert load_reranker("mine").fingerprint == "overlap:1"


def test_an_entry_point_that_returns_no_reranker_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plug = EntryPoint("mine", "builtins:str", "crx.rerankers")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [plug])
    with pytest.raises(ModelError, match="returned str, which is not a Reranker"):
        load_reranker("mine:x")


# against sentence-transformers


@pytest.mark.st
@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_scores_are_those_of_sentence_transformers(
    family: str, labels: int, tmp_path: Path
) -> None:
    package = pytest.importorskip("sentence_transformers")
    source = make_model(tmp_path / "one", family=family, head=True, labels=labels)
    add_model(source, into=tmp_path / "store")
    ours = load_reranker(str(tmp_path / "store" / "one"))
    theirs = load_reranker(f"st:{source}")
    assert ours.score("the revenue", TEXTS) == pytest.approx(
        theirs.score("the revenue", TEXTS), abs=5e-3
    )
    short = [text for text in TEXTS if len(text) < 40]
    model = package.CrossEncoder(str(source), device="cpu", local_files_only=True)
    found = model.predict([("the revenue", text) for text in short], apply_softmax=labels == 2)
    wanted = found[:, 1] if labels == 2 else found
    assert theirs.score("the revenue", short) == pytest.approx(wanted, abs=1e-5)
