"""Static embedders in the folders of model2vec and of sentence-transformers.

The rules are those of model2vec 0.10: the mean of the tokens' rows times their weights, without
special tokens and without the unknown one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tiny_model import WORDS, make_model, write_json

from crx._backends.onnx import load_embedder
from crx._models.store import add_model
from crx.errors import ModelError

TABLE = np.random.default_rng(0).normal(size=(len(WORDS), 8)).astype(np.float32)
WEIGHTS = np.linspace(0.1, 2, len(WORDS)).astype(np.float32)
ROWS = np.array([0, 1, 2, 3, 4, 4, 6, 7, 8, 4])
TEXT = "the revenue of the unheard 二"
IDS = [WORDS.index(word) for word in ("the", "revenue", "of", "the", "二")]


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))


def make(folder: Path, tensors: Mapping[str, NDArray[Any]], *, module: str = ".") -> Path:
    made = make_model(folder)
    for name in ("model.safetensors", "sentence_bert_config.json"):
        (made / name).unlink()
    kind = "sentence_transformers.models.StaticEmbedding"
    write_json(made / "modules.json", [{"idx": 0, "name": "0", "path": module, "type": kind}])
    write_json(made / "config.json", {"model_type": "model2vec", "seq_length": 1000000})
    (made / module).mkdir(exist_ok=True)
    save_file(dict(tensors), made / module / "model.safetensors")
    if module != ".":
        (made / "tokenizer.json").rename(made / module / "tokenizer.json")
        (made / "config.json").unlink()
    return made


def embed(folder: Path, text: str = TEXT) -> NDArray[np.float32]:
    vector: NDArray[np.float32] = load_embedder(add_model(folder).name).embed([text])[0]
    return vector


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    mean: NDArray[np.float32] = rows.mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_a_vector_is_the_mean_of_the_known_tokens(tmp_path: Path) -> None:
    assert embed(make(tmp_path / "m", {"embeddings": TABLE})) == pytest.approx(
        unit(TABLE[IDS]), abs=1e-3
    )


def test_weights_and_shared_rows_are_applied(tmp_path: Path) -> None:
    folder = make(tmp_path / "m", {"embeddings": TABLE, "weights": WEIGHTS, "mapping": ROWS})
    expected = unit(TABLE[ROWS[IDS]] * WEIGHTS[IDS, None])
    assert embed(folder) == pytest.approx(expected, abs=1e-3)


def test_the_table_of_sentence_transformers_is_in_a_folder_of_its_own(tmp_path: Path) -> None:
    tensors = {"embedding.weight": TABLE}
    folder = make(tmp_path / "m", tensors, module="0_StaticEmbedding")
    assert embed(folder) == pytest.approx(unit(TABLE[IDS]), abs=1e-3)


def test_a_table_in_a_folder_of_its_own_is_read_from_the_hubs_cache(tmp_path: Path) -> None:
    made = make(tmp_path / "m", {"embedding.weight": TABLE}, module="0_StaticEmbedding")
    snapshot = tmp_path / "cache" / "snapshots" / "0123456"
    (tmp_path / "cache" / "blobs").mkdir(parents=True)
    for number, file in enumerate(each for each in made.rglob("*") if each.is_file()):
        blob = file.rename(tmp_path / "cache" / "blobs" / str(number))
        link = snapshot / file.relative_to(made)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(blob)
    assert embed(snapshot) == pytest.approx(unit(TABLE[IDS]), abs=1e-3)


def test_a_vector_does_not_depend_on_the_other_texts_of_its_batch(tmp_path: Path) -> None:
    sizes = np.logspace(-3, 3, len(WORDS), dtype=np.float32)  # so that sums are rounded
    folder = make(tmp_path / "m", {"embeddings": np.tile(TABLE * sizes[:, None], 32)})
    embedder = load_embedder(add_model(folder).name)
    choose = np.random.default_rng(0).choice
    texts = [" ".join(choose(WORDS[5:], 100)) for _ in range(40)]
    alone = [embedder.embed([text])[0] for text in texts]
    assert np.array_equal(embedder.embed(texts), alone)


@pytest.mark.parametrize("text", ["", "unheard"])
def test_a_text_without_a_known_token_has_a_vector_of_zeros(tmp_path: Path, text: str) -> None:
    assert not embed(make(tmp_path / "m", {"embeddings": TABLE}), text).any()


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"embeddings": TABLE[:5]}, "the tokenizer has 10 tokens, the table 5"),
        ({"other": TABLE}, "no table of token vectors"),
        ({"embeddings": TABLE, "mapping": ROWS + 5}, "mapping names rows that the table lacks"),
        ({"embeddings": TABLE, "weights": WEIGHTS[:3]}, r"weights of the shape \(3,\) for 10"),
        ({"embeddings": TABLE * np.float32(np.nan)}, "differs by nan from the reference"),
    ],
)
def test_a_wrong_table_is_refused(
    tmp_path: Path, tensors: Mapping[str, NDArray[Any]], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        add_model(make(tmp_path / "m", tensors))


def test_a_table_has_no_int8_form(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="add it with --precision fp32"):
        add_model(make(tmp_path / "m", {"embeddings": TABLE}), precision="int8")
