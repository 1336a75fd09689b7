"""A tiny model folder with random weights, in the format of sentence-transformers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "revenue", "of", "grew", "第", "二"]
HIDDEN, WIDE, LAYERS, HEADS, POSITIONS = 16, 32, 2, 4, 24
MODERN_LAYERS = 4

_BERT = {
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "hidden_size": HIDDEN,
    "intermediate_size": WIDE,
    "vocab_size": len(WORDS),
    "max_position_embeddings": POSITIONS,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
}
_CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "bert": _BERT,
    "roberta": {**_BERT, "type_vocab_size": 1, "pad_token_id": 0},
    "xlm-roberta": {**_BERT, "type_vocab_size": 1, "pad_token_id": 0},
    "distilbert": {
        "n_layers": LAYERS,
        "n_heads": HEADS,
        "dim": HIDDEN,
        "hidden_dim": WIDE,
        "vocab_size": len(WORDS),
        "max_position_embeddings": POSITIONS,
        "activation": "gelu",
    },
    # Every third layer is global; in the others, a token sees two on each side.
    "modernbert": {
        "num_hidden_layers": MODERN_LAYERS,
        "num_attention_heads": HEADS,
        "hidden_size": HIDDEN,
        "intermediate_size": WIDE,
        "vocab_size": len(WORDS),
        "max_position_embeddings": POSITIONS,
        "hidden_activation": "gelu",
        "global_attn_every_n_layers": 3,
        "local_attention": 4,
        "global_rope_theta": 160000.0,
        "local_rope_theta": 10000.0,
        "norm_eps": 1e-5,
        "pad_token_id": 0,
    },
    "t5": _BERT,
}
_CLASSES = {
    "bert": "Bert",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
    "modernbert": "ModernBert",
}


def make_model(
    folder: Path,
    *,
    family: str = "bert",
    pooling: str = "mean_tokens",
    config: Mapping[str, Any] = {},
    dense: int = 0,
    head: bool = False,
    labels: int = 1,
    seed: int = 0,
) -> Path:
    """Write a model folder and return its path.

    `dense` is the size of a projection, or 0 for none. With `head`, the model is a reranker with
    this number of `labels`.
    """
    folder.mkdir()
    task = "ForSequenceClassification" if head else "Model"
    name = _CLASSES.get(family, "DistilBert") + task
    settings = {"model_type": family, "architectures": [name], **_CONFIGS[family], **config}
    if head:
        settings["id2label"] = {str(at): f"LABEL_{at}" for at in range(labels)}
    write_json(folder / "config.json", settings)
    if not head:
        _write_modules(folder, pooling, dense=dense)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# Tiny\n")
    _write_tokenizer(folder, family, sequence=20 if head else 0)
    numbers = np.random.default_rng(seed)
    save_file(_weights(family, numbers, labels=labels if head else 0), folder / "model.safetensors")
    if dense:
        _write_dense(folder / "2_Dense", dense, numbers)
    return folder


def _write_modules(folder: Path, pooling: str, *, dense: int) -> None:
    modules = ["Transformer", "Pooling", *(["Dense"] if dense else []), "Normalize"]
    paths = ["", *(f"{at}_{kind}" for at, kind in enumerate(modules) if at)]
    listed = [
        {"idx": at, "name": str(at), "type": f"sentence_transformers.models.{kind}", "path": path}
        for at, (kind, path) in enumerate(zip(modules, paths, strict=True))
    ]
    write_json(folder / "modules.json", listed)
    pools = {"word_embedding_dimension": HIDDEN, "pooling_mode_mean_tokens": False}
    write_json(folder / "1_Pooling/config.json", {**pools, f"pooling_mode_{pooling}": True})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 20})
    prompts = {"query": "the ", "passage": ""}
    write_json(folder / "config_sentence_transformers.json", {"prompts": prompts})


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))


def _write_tokenizer(folder: Path, family: str, *, sequence: int) -> None:
    words = {word: at for at, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    tokenizer.add_special_tokens(WORDS[:4])
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1" if family == "bert" else "[CLS] $A [SEP] [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.enable_padding(length=12)
    tokenizer.enable_truncation(5)
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]"}
    tokens = {f"{key}_token": value for key, value in named.items()}
    types = ["token_type_ids"] if family == "bert" else []
    inputs = {"model_input_names": ["input_ids", *types, "attention_mask"]}
    limit = {"model_max_length": sequence} if sequence else {}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **tokens, **inputs, **limit}
    write_json(folder / "tokenizer_config.json", settings)


def _write_dense(folder: Path, size: int, numbers: np.random.Generator) -> None:
    function = "torch.nn.modules.activation.Tanh"
    sizes = {"in_features": HIDDEN, "out_features": size, "bias": True}
    write_json(folder / "config.json", {**sizes, "activation_function": function})
    shapes = {"linear.weight": (size, HIDDEN), "linear.bias": (size,)}
    save_file(_drawn(shapes, numbers), folder / "model.safetensors")


def _weights(family: str, numbers: np.random.Generator, *, labels: int) -> dict[str, Any]:
    if family == "modernbert":
        return _drawn(_modern_shapes(labels), numbers)
    shapes = _embeddings(family)
    for index in range(LAYERS):
        shapes |= _layer(family, index)
    if labels:
        inner, outer = ("classifier.dense", "classifier.out_proj")
        if family == "bert":
            inner, outer = ("bert.pooler.dense", "classifier")
        shapes = {f"{family.removeprefix('xlm-')}.{name}": shape for name, shape in shapes.items()}
        shapes |= _linear(inner, HIDDEN, HIDDEN) | _linear(outer, HIDDEN, labels)
    return _drawn(shapes, numbers)


def _modern_shapes(labels: int) -> dict[str, tuple[int, ...]]:
    prefix = "model." if labels else ""
    shapes: dict[str, tuple[int, ...]] = {"embeddings.tok_embeddings.weight": (len(WORDS), HIDDEN)}
    norms = ["embeddings.norm", "final_norm"]
    for index in range(MODERN_LAYERS):
        at = f"layers.{index}"
        norms += [f"{at}.mlp_norm", *([f"{at}.attn_norm"] if index else [])]
        shapes |= {
            f"{at}.attn.Wqkv.weight": (3 * HIDDEN, HIDDEN),
            f"{at}.attn.Wo.weight": (HIDDEN, HIDDEN),
            f"{at}.mlp.Wi.weight": (2 * WIDE, HIDDEN),
            f"{at}.mlp.Wo.weight": (HIDDEN, WIDE),
        }
    shapes |= {f"{norm}.weight": (HIDDEN,) for norm in norms}
    shapes = {prefix + name: shape for name, shape in shapes.items()}
    if labels:
        shapes |= {"head.dense.weight": (HIDDEN, HIDDEN), "head.norm.weight": (HIDDEN,)}
        shapes |= _linear("classifier", HIDDEN, labels)
    return shapes


def _embeddings(family: str) -> dict[str, tuple[int, ...]]:
    segments = _CONFIGS[family].get("type_vocab_size", 0)
    types = {"embeddings.token_type_embeddings.weight": (segments, HIDDEN)} if segments else {}
    return {
        "embeddings.word_embeddings.weight": (len(WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
        **types,
        **_norm("embeddings.LayerNorm"),
    }


def _layer(family: str, index: int) -> dict[str, tuple[int, ...]]:
    at, projections = f"encoder.layer.{index}", ["self.query", "self.key", "self.value"]
    projections = [f"attention.{name}" for name in (*projections, "output.dense")]
    up, down = "intermediate.dense", "output.dense"
    norms = ["attention.output.LayerNorm", "output.LayerNorm"]
    if family == "distilbert":
        at, projections = f"transformer.layer.{index}", ["q_lin", "k_lin", "v_lin", "out_lin"]
        projections = [f"attention.{name}" for name in projections]
        up, down = "ffn.lin1", "ffn.lin2"
        norms = ["sa_layer_norm", "output_layer_norm"]
    shapes = _linear(f"{at}.{up}", HIDDEN, WIDE) | _linear(f"{at}.{down}", WIDE, HIDDEN)
    for name in projections:
        shapes |= _linear(f"{at}.{name}", HIDDEN, HIDDEN)
    for name in norms:
        shapes |= _norm(f"{at}.{name}")
    return shapes


def _linear(name: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _norm(name: str) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (HIDDEN,), f"{name}.bias": (HIDDEN,)}


def _drawn(shapes: Mapping[str, tuple[int, ...]], numbers: np.random.Generator) -> dict[str, Any]:
    # Layer norms are near the identity, so that texts get different vectors.
    weights = {}
    for name, shape in shapes.items():
        spread, centre = (0.5, 0.0) if len(shape) > 1 else (0.1, float("orm.weight" in name))
        weights[name] = numbers.normal(centre, spread, shape).astype(np.float32)
    return weights
