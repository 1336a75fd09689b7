"""Conversion of ModernBERT: rotary positions, local and global layers, a gated network.

The expected values are those of transformers 5.3 for the same folders.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_model import HIDDEN, MODERN_LAYERS, make_model, write_json

from crx._backends.onnx import load_embedder, load_reranker
from crx._models.card import Precision
from crx._models.source_folder import read_folder
from crx._models.store import add_model
from crx.errors import ModelError

# fmt: off
VECTORS = {
    "cls_token": [0.1844, -0.5707, 0.2313, -0.4732, 0.0951, -0.156, 0.0565, 0.199,
                  0.1056, -0.2178, -0.0467, -0.0361, -0.0579, 0.1295, 0.1485, 0.4271],
    "mean_tokens": [0.053, -0.0356, 0.2768, 0.293, 0.2481, 0.3058, 0.0468, 0.0031,
                    -0.2871, -0.5613, 0.0426, -0.1037, -0.1716, -0.2187, -0.3318, 0.2807],
}
# fmt: on
TEXT = "the revenue of 第 二 grew the revenue of the of grew 二"
LOGITS = {"cls": -0.4262, "mean": 3.5864}


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))


def make(tmp_path: Path, **options: Any) -> Path:
    return make_model(tmp_path / "tiny", family="modernbert", **options)


def configure(folder: Path, **changes: object) -> Path:
    path = folder / "config.json"
    kept = {key: value for key, value in json.loads(path.read_text()).items() if key not in changes}
    write_json(path, kept | {key: value for key, value in changes.items() if value is not None})
    return folder


@pytest.mark.parametrize(("precision", "least"), [("fp32", 0.9999), ("int8", 0.99)])
@pytest.mark.parametrize("pooling", list(VECTORS))
def test_vectors_are_those_of_transformers(
    tmp_path: Path, pooling: str, precision: Precision, least: float
) -> None:
    card = add_model(make(tmp_path, pooling=pooling), precision=precision)
    vector = load_embedder(card.name).embed([TEXT])[0]
    assert vector @ np.array(VECTORS[pooling], np.float32) > least


@pytest.mark.parametrize("pooling", list(LOGITS))
def test_scores_are_those_of_transformers(tmp_path: Path, pooling: str) -> None:
    card = add_model(make(tmp_path, head=True, config={"classifier_pooling": pooling}))
    score = load_reranker(card.name).score("the revenue", [TEXT.removeprefix("the revenue ")])[0]
    assert np.log(score / (1 - score)) == pytest.approx(LOGITS[pooling], abs=0.05)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_text_of_any_length_has_the_same_vector_alone_and_among_others(
    tmp_path: Path, precision: Precision
) -> None:
    embedder = load_embedder(add_model(make(tmp_path), precision=precision).name)
    words = TEXT.split()
    texts = [" ".join(words[:count]) for count in range(len(words) + 1)]
    together = embedder.embed([*texts, *(text[::-1] for text in texts)])[: len(texts)]
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    assert np.array_equal(together, alone)


def test_a_token_beyond_the_window_does_not_reach_a_local_layer(tmp_path: Path) -> None:
    local = {"layer_types": ["sliding_attention"] * MODERN_LAYERS}
    folder = make(tmp_path, pooling="cls_token", config=local)
    embedder = load_embedder(add_model(folder).name)
    # The window of two tokens on each side reaches eight tokens in four layers.
    near, far, other = ("the " * 8, "the " * 9, "the " * 9 + "revenue grew")
    assert np.array_equal(*embedder.embed([far, other]))
    assert not np.array_equal(*embedder.embed([near.replace("the ", "of ", 1), near]))


def test_both_forms_of_the_configuration_are_read_alike(tmp_path: Path) -> None:
    folder = make(tmp_path)
    older = read_folder(folder).architecture()
    rotations: Mapping[str, object] = {
        "full_attention": {"rope_type": "default", "rope_theta": 160000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
    }
    kinds = ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]
    configure(
        folder,
        layer_types=kinds,
        rope_parameters=rotations,
        global_attn_every_n_layers=None,
        global_rope_theta=None,
        local_rope_theta=None,
    )
    assert read_folder(folder).architecture() == older


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layer_types": ["full_attention"]}, "layer_types does not name the type of 4 layers"),
        ({"layer_types": ["mamba"] * 4}, "layer_types does not name"),
        ({"num_hidden_layers": 10**6}, "num_hidden_layers is 1000000, not an integer from 1 to"),
        ({"num_hidden_layers": 5}, r"no tensor layers\.4\.attn\.Wqkv\.weight"),
        ({"intermediate_size": 8}, r"Wi\.weight has the shape \(64, 16\), not \(16, 16\)"),
        ({"rope_scaling": {"factor": 4}}, "scaled rotary positions"),
        ({"local_rope_theta": "many"}, "local_rope_theta is 'many', not a positive number"),
        ({"num_attention_heads": 16}, "heads of an even size"),
        ({"hidden_activation": "mish"}, "activation mish; crx supports"),
    ],
)
def test_a_configuration_that_is_wrong_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        add_model(configure(make(tmp_path), **change))


def test_weights_in_bfloat16_are_read(tmp_path: Path) -> None:
    folder = make(tmp_path)
    weights = load_file(folder / "model.safetensors")
    halves = {name: value.astype(ml_dtypes.bfloat16) for name, value in weights.items()}
    save_file(halves, folder / "model.safetensors")
    vector = load_embedder(add_model(folder).name).embed([TEXT])[0]
    assert vector @ np.array(VECTORS["mean_tokens"], np.float32) > 0.99


def make_parts(folder: Path, *, pooling: str = "cls", last: str = "linear.Identity") -> Path:
    """Make a reranker whose head is in modules, the last with the activation `last`."""
    make_model(folder, family="modernbert", head=True)
    configure(folder, architectures=["ModernBertModel"])
    weights = load_file(folder / "model.safetensors")
    kinds = ["Transformer", "Pooling", "Dense", "LayerNorm", "Dense"]
    paths = ["", *(f"{at}_{kind}" for at, kind in enumerate(kinds) if at)]
    types = [f"sentence_transformers.models.{kind}" for kind in kinds]
    listed = [{"type": kind, "path": path} for kind, path in zip(types, paths, strict=True)]
    write_json(folder / "modules.json", listed)
    write_json(folder / "1_Pooling/config.json", {"pooling_mode": pooling})
    for path, name, outputs, function in (
        ("2_Dense", "head.dense", HIDDEN, "torch.nn.modules.activation.GELU"),
        ("4_Dense", "classifier", 1, f"torch.nn.modules.{last}"),
    ):
        sizes = {"in_features": HIDDEN, "out_features": outputs, "bias": name == "classifier"}
        write_json(folder / path / "config.json", sizes | {"activation_function": function})
        kept = {
            f"linear.{each}": weights[f"{name}.{each}"]
            for each in ("weight", "bias")
            if f"{name}.{each}" in weights
        }
        save_file(kept, folder / path / "model.safetensors")
    write_json(folder / "3_LayerNorm/config.json", {"dimension": HIDDEN})
    norm = {"norm.weight": weights["head.norm.weight"], "norm.bias": np.zeros(HIDDEN, np.float32)}
    save_file(norm, folder / "3_LayerNorm/model.safetensors")
    return folder


def test_a_head_in_modules_gives_the_score_of_the_same_head_in_the_model(tmp_path: Path) -> None:
    whole = add_model(make(tmp_path, head=True), name="whole")
    card = add_model(make_parts(tmp_path / "parts"))
    assert card.kind == "reranker"
    left, right = (load_reranker(each.name).score("the revenue", [TEXT]) for each in (whole, card))
    assert left == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ({"pooling": "max"}, "a reranker with the pooling max; crx supports cls and mean"),
        ({"last": "activation.Tanh"}, "activation tanh; a reranker's last is Identity"),
    ],
)
def test_a_head_in_modules_that_would_score_otherwise_is_refused(
    tmp_path: Path, head: dict[str, str], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        add_model(make_parts(tmp_path / "parts", **head))


def test_another_pooling_of_a_classifier_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="the pooling max; crx supports cls and mean"):
        add_model(make(tmp_path, head=True, config={"classifier_pooling": "max"}))
