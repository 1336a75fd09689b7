"""Late-interaction rerankers in the folders of PyLate.

A run of PyLate 1.6 on a random model with its own punctuation and prefixes gave the same scores.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tiny_model import HIDDEN, WORDS, make_model, write_json

from crx._backends.onnx import load_embedder, load_reranker
from crx._models.card import Precision
from crx._models.source_folder import read_folder
from crx._models.store import add_model
from crx.errors import ModelError
from crx_convert import reference
from crx_convert.weights import read_weights

QUERY, TEXTS = "revenue grew", ["the revenue of 第 二 grew", "of the of", ""]
SKIPPED = ("of", "第")
SIZE = 8


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder of a tiny model with a projection of its tokens."""
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    made = make_model(tmp_path / "late", family="modernbert")
    types = ["sentence_transformers.models.Transformer", "pylate.models.Dense.Dense"]
    listed = [
        {"type": kind, "path": path} for kind, path in zip(types, ("", "1_Dense"), strict=True)
    ]
    write_json(made / "modules.json", listed)
    function = "torch.nn.modules.linear.Identity"
    sizes = {"in_features": HIDDEN, "out_features": SIZE, "bias": False, "use_residual": False}
    write_json(made / "1_Dense/config.json", {**sizes, "activation_function": function})
    weight = np.random.default_rng(0).normal(size=(SIZE, HIDDEN)).astype(np.float32)
    save_file({"linear.weight": weight}, made / "1_Dense/model.safetensors")
    saved = {"query_prefix": "二 ", "document_prefix": "the ", "document_length": 12}
    write_json(
        made / "config_sentence_transformers.json", {**saved, "skiplist_words": list(SKIPPED)}
    )
    return made


def token_vectors(folder: Path, words: list[str]) -> NDArray[np.float32]:
    read = read_folder(folder)
    shape = read.architecture()
    ids = np.array([WORDS.index(word) for word in ("[CLS]", *words, "[SEP]")])
    vectors: NDArray[np.float32] = reference.embed(ids, read_weights(read, shape), shape, "tokens")
    return vectors


def best_cosines(folder: Path, text: str) -> NDArray[np.float32]:
    query, words = token_vectors(folder, ["二", *QUERY.split()]), ["the", *text.split()]
    kept = [True, *(word not in SKIPPED for word in words), True]
    best: NDArray[np.float32] = (query @ token_vectors(folder, words)[kept].T).max(axis=1)
    return best


def expected_score(folder: Path, *windows: str) -> float:
    best = np.max([best_cosines(folder, window) for window in windows], axis=0)
    return float((1 + best.mean()) / 2)


@pytest.mark.parametrize(("precision", "error"), [("fp32", 1e-3), ("int8", 0.03)])
def test_a_score_is_the_mean_of_the_best_cosine_of_each_token_of_the_query(
    folder: Path, precision: Precision, error: float
) -> None:
    card = add_model(folder, precision=precision)
    assert (card.kind, card.pooling, card.dimensions, card.sequence) == (
        "reranker",
        "tokens",
        SIZE,
        12,
    )
    found = load_reranker(card.name).score(QUERY, TEXTS)
    assert found == pytest.approx([expected_score(folder, text) for text in TEXTS], abs=error)


def test_a_long_text_is_read_in_windows_and_none_of_it_is_left_out(folder: Path) -> None:
    windows = "the revenue of grew the revenue of grew the", "grew 二"
    found = load_reranker(add_model(folder).name).score(QUERY, [" ".join(windows)])
    assert found == pytest.approx([expected_score(folder, *windows)], abs=1e-3)


def test_it_is_no_embedder(folder: Path) -> None:
    with pytest.raises(ModelError, match="a reranker, not an embedder"):
        load_embedder(add_model(folder).name)


def test_a_residual_projection_is_refused(folder: Path) -> None:
    config = {"in_features": HIDDEN, "out_features": SIZE, "activation_function": "x.Identity"}
    write_json(folder / "1_Dense/config.json", {**config, "use_residual": True})
    with pytest.raises(ModelError, match="a residual projection, which crx does not support"):
        add_model(folder)
