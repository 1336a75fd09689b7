"""Weights of a model folder: safetensors under uniform names, with every shape checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from crx._models.source_folder import (
    Activation,
    Architecture,
    SourceFolder,
    parse_activation,
    path_inside,
    read_config,
)
from crx.errors import ModelError

Array = NDArray[np.float32]
DenseActivation = Literal["identity", "tanh", "gelu"]


# Columns per scale in `Q4Matrix`.
BLOCK_SIZE = 32
# The zero point of 4-bit codes.
ZERO_POINT = 8


@dataclass(frozen=True, slots=True)
class Q4Matrix:
    """A matrix of 4-bit codes with a scale per 32 columns: `(code - 8) * scale`.

    `codes` is (rows, columns) uint8 below 16, `scales` (rows, columns / 32) float16.
    """

    codes: NDArray[np.uint8]
    scales: NDArray[np.float16]

    def __getitem__(self, rows: NDArray[np.int64]) -> Array:
        """Return the dequantized rows, float32."""
        return Q4Matrix(self.codes[rows], self.scales[rows]).dequantize()

    def dequantize(self) -> Array:
        """Return all values, (rows, columns) float32."""
        values = self.codes.astype(np.float32) - ZERO_POINT
        blocks = values.reshape(*self.scales.shape, BLOCK_SIZE)
        product: Array = blocks * self.scales[..., None].astype(np.float32)
        return product.reshape(self.codes.shape)


@dataclass(frozen=True, slots=True)
class Linear:
    """`x @ weight + bias`: weight (inputs, outputs), bias (outputs,) or None."""

    weight: Array
    bias: Array | None


@dataclass(frozen=True, slots=True)
class LayerNorm:
    """Scale and shift of a layer normalization, (hidden,) each."""

    scale: Array
    shift: Array


@dataclass(frozen=True, slots=True)
class Layer:
    """One encoder layer: attention, its layer norm, the feed-forward network, its layer norm.

    With a `gate`, the activation of `up` is multiplied by it. The norm of attention is None in the
    first layer of ModernBERT.
    """

    query: Linear
    key: Linear
    value: Linear
    out: Linear
    attention_norm: LayerNorm | None
    up: Linear
    down: Linear
    norm: LayerNorm
    gate: Linear | None = None


@dataclass(frozen=True, slots=True)
class DenseLayer:
    """A projection of the pooled vector."""

    linear: Linear
    activation: DenseActivation


@dataclass(frozen=True, slots=True)
class ClassificationHead:
    """A reranker's classification head: `dense`, the activation, the norm, `out`, one logit.

    It reads the first token, or the mean of all. For a model with two labels, the logit is the
    second label's minus the first's: its sigmoid is the softmax of the two.
    """

    dense: Linear
    out: Linear
    activation: Activation | DenseActivation = "tanh"
    norm: LayerNorm | None = None
    pooling: Literal["cls", "mean"] = "cls"


@dataclass(frozen=True, slots=True)
class EncoderWeights:
    """All weights of an encoder. Row 0 of `position_embeddings` is that of the first token.

    `segment_embeddings` has one row if the model does not use segment ids. ModernBERT has neither
    table, and a norm after the last layer.
    """

    word_embeddings: Array | Q4Matrix
    position_embeddings: Array | None
    segment_embeddings: Array | None
    norm: LayerNorm
    layers: tuple[Layer, ...]
    dense: tuple[DenseLayer, ...]
    head: ClassificationHead | None
    final_norm: LayerNorm | None = None

    @property
    def segments(self) -> int:
        """The number of segment ids that the model tells apart, at least 1."""
        return 1 if self.segment_embeddings is None else len(self.segment_embeddings)


def read_weights(folder: SourceFolder, shape: Architecture) -> EncoderWeights:
    """Read the weights of a folder; `ModelError` if one is missing or has the wrong shape."""
    tensors = load_tensors(folder.path)
    take = _FileTensors(folder.path, tensors, _name_prefix(tensors, shape))
    d = shape.hidden
    take_unprefixed = _FileTensors(folder.path, tensors, "")
    head = (
        _head(folder, take, take_unprefixed, shape, _label_count(tensors))
        if folder.kind == "reranker" and folder.pooling != "tokens"
        else None
    )
    dense = tuple(_dense(folder, name) for name in folder.dense)
    if shape.rotary is not None:
        return EncoderWeights(
            word_embeddings=take(_MODERN_TABLE, (shape.vocabulary, d)),
            position_embeddings=None,
            segment_embeddings=None,
            norm=_modern_norm(take, "embeddings.norm", d),
            layers=tuple(_modern_layer(take, shape, index) for index in range(shape.layers)),
            dense=dense,
            head=head,
            final_norm=_modern_norm(take, "final_norm", d),
        )
    word_embeddings = take(_TABLE, (shape.vocabulary, d))
    position_embeddings = take("embeddings.position_embeddings.weight", (shape.positions, d))
    segment_embeddings = (
        take("embeddings.token_type_embeddings.weight", (shape.segments, d))
        if shape.segments
        else np.zeros((1, d), np.float32)
    )
    return EncoderWeights(
        word_embeddings=word_embeddings,
        position_embeddings=position_embeddings[shape.first_position :][: folder.sequence],
        segment_embeddings=segment_embeddings,
        norm=_norm(take, "embeddings.LayerNorm", d),
        layers=tuple(_layer(take, shape, index) for index in range(shape.layers)),
        dense=dense,
        head=head,
    )


def read_layers(path: Path, shape: Architecture) -> tuple[Architecture, tuple[Layer, ...]]:
    """Read the layers of a student from a file in safetensors under the names of BERT.

    Returns them with `shape` changed to their number and to the width of their feed-forward
    networks. Raises `ModelError` if the file has no layers or one of another width than the rest.
    """
    tensors = _load_file(path)
    start, *_, (up, *_) = _BERT_LAYER
    wide = [
        tensors[name]
        for at in range(len(tensors))
        if (name := f"{start}{up}.weight".format(at)) in tensors
    ]
    if not wide:
        raise ModelError(f"{path}: has no layers of a student")
    shape = replace(shape, family="bert", layers=len(wide), intermediate=len(wide[0]))
    take = _FileTensors(path, tensors, "")
    return shape, tuple(_layer(take, shape, index) for index in range(shape.layers))


def load_tensors(path: Path, module: str = "") -> Mapping[str, Array]:
    """Return the tensors of a folder, or of a module in it, by name.

    Raises `ModelError` if the file is missing or damaged.
    """
    file = path_inside(path, f"{module}/model.safetensors".removeprefix("/"))
    if not file.exists():
        pickled = sorted(file.parent.glob("*.bin"))
        if pickled:
            raise ModelError(
                f"{pickled[0]}: pickled weights can run code and are not read; "
                "save the model with safe_serialization=True"
            )
        raise ModelError(f"{file}: no such file; use a folder with weights in safetensors")
    return _load_file(file)


def _load_file(file: Path) -> Mapping[str, Array]:
    try:
        return load_file(file)
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise ModelError(f"{file}: not readable ({error}); download the file again") from error


# Names of the table of word embeddings.
_TABLE = "embeddings.word_embeddings.weight"
_MODERN_TABLE = "embeddings.tok_embeddings.weight"


def _name_prefix(tensors: Mapping[str, Array], shape: Architecture) -> str:
    """Return the prefix of the encoder's tensor names: "" or the family's, such as "bert."."""
    prefixes = ("", "bert.", "roberta.", "distilbert.", "model.")
    table = _TABLE if shape.rotary is None else _MODERN_TABLE
    found = (each for each in prefixes if f"{each}{table}" in tensors)
    return next(found, f"{shape.family}.")


@dataclass(frozen=True, slots=True)
class _FileTensors:
    """The tensors of a file whose names begin with a prefix; each is checked when it is read."""

    path: Path
    tensors: Mapping[str, Array]
    prefix: str

    def __contains__(self, name: str) -> bool:
        return self.prefix + name in self.tensors

    def __call__(self, name: str, shape: tuple[int, ...]) -> Array:
        array = self.tensors.get(self.prefix + name)
        if array is None:
            raise ModelError(
                f"{self.path}: no tensor {self.prefix}{name}; download the complete model"
            )
        if array.shape != shape:
            raise ModelError(
                f"{self.path}: tensor {self.prefix}{name} has the shape {array.shape}, "
                f"not {shape}; use the weights and the config.json of one model"
            )
        return array.astype(np.float32)


def _linear(take: _FileTensors, name: str, inputs: int, outputs: int) -> Linear:
    weight = take(f"{name}.weight", (outputs, inputs))
    return Linear(np.ascontiguousarray(weight.T), take(f"{name}.bias", (outputs,)))


def _norm(take: _FileTensors, name: str, size: int) -> LayerNorm:
    return LayerNorm(take(f"{name}.weight", (size,)), take(f"{name}.bias", (size,)))


def _modern_linear(take: _FileTensors, name: str, inputs: int, outputs: int) -> Linear:
    """Return a layer that has a bias if the file has one."""
    if f"{name}.bias" in take:
        return _linear(take, name, inputs, outputs)
    return Linear(np.ascontiguousarray(take(f"{name}.weight", (outputs, inputs)).T), None)


def _modern_norm(take: _FileTensors, name: str, size: int) -> LayerNorm:
    if f"{name}.bias" in take:
        return _norm(take, name, size)
    return LayerNorm(take(f"{name}.weight", (size,)), np.zeros(size, np.float32))


def _modern_layer(take: _FileTensors, shape: Architecture, index: int) -> Layer:
    """Return a layer of ModernBERT, which has one tensor for the layers of equal input."""
    at, d, wide = f"layers.{index}", shape.hidden, shape.intermediate
    query, key, value = _split(_modern_linear(take, f"{at}.attn.Wqkv", d, 3 * d), 3)
    up, gate = _split(_modern_linear(take, f"{at}.mlp.Wi", d, 2 * wide), 2)
    return Layer(
        query=query,
        key=key,
        value=value,
        out=_modern_linear(take, f"{at}.attn.Wo", d, d),
        attention_norm=_modern_norm(take, f"{at}.attn_norm", d) if index else None,
        up=up,
        down=_modern_linear(take, f"{at}.mlp.Wo", wide, d),
        norm=_modern_norm(take, f"{at}.mlp_norm", d),
        gate=gate,
    )


def _split(linear: Linear, parts: int) -> list[Linear]:
    """Return layers that each give an equal part of the output."""
    weights = np.split(linear.weight, parts, axis=1)
    biases = [None] * parts if linear.bias is None else np.split(linear.bias, parts)
    return [Linear(weight, bias) for weight, bias in zip(weights, biases, strict=True)]


# Tensor names of an encoder layer, in the order of the fields of `Layer`.
_BERT_LAYER = (
    "encoder.layer.{}.",
    ("attention.self.query", "attention.self.key", "attention.self.value"),
    ("attention.output.dense", "attention.output.LayerNorm"),
    ("intermediate.dense", "output.dense", "output.LayerNorm"),
)
_DISTILBERT_LAYER = (
    "transformer.layer.{}.",
    ("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    ("attention.out_lin", "sa_layer_norm"),
    ("ffn.lin1", "ffn.lin2", "output_layer_norm"),
)


def _layer(take: _FileTensors, shape: Architecture, index: int) -> Layer:
    names = _DISTILBERT_LAYER if shape.family == "distilbert" else _BERT_LAYER
    start, projections, (out, attention_norm), (up, down, norm) = names
    at = start.format(index)
    d, wide = shape.hidden, shape.intermediate
    query, key, value = (_linear(take, at + name, d, d) for name in projections)
    return Layer(
        query=query,
        key=key,
        value=value,
        out=_linear(take, at + out, d, d),
        attention_norm=_norm(take, at + attention_norm, d),
        up=_linear(take, at + up, d, wide),
        down=_linear(take, at + down, wide, d),
        norm=_norm(take, at + norm, d),
    )


def _dense(folder: SourceFolder, name: str) -> DenseLayer:
    config = read_config(folder, name)
    activation = str(config.get("activation_function", "")).rpartition(".")[2].lower()
    if activation not in get_args(DenseActivation):
        raise ModelError(
            f"{folder.path}/{name}: activation {activation}; crx supports Identity, Tanh and GELU"
        )
    if config.get("use_residual"):
        raise ModelError(f"{folder.path}/{name}: a residual projection, which crx does not support")
    inputs, outputs = config.get("in_features"), config.get("out_features")
    if not isinstance(inputs, int) or not isinstance(outputs, int):
        raise ModelError(f"{folder.path}/{name}: config.json has no in_features or out_features")
    path = path_inside(folder.path, name)
    take = _FileTensors(path, load_tensors(folder.path, name), "")
    weight = np.ascontiguousarray(take("linear.weight", (outputs, inputs)).T)
    bias = take("linear.bias", (outputs,)) if config.get("bias", True) else None
    return DenseLayer(Linear(weight, bias), cast(DenseActivation, activation))


def _label_count(tensors: Mapping[str, Array]) -> int:
    """Return the number of a classifier's labels: the rows of its last weight."""
    names = ("classifier.out_proj.weight", "classifier.weight")
    return next((len(tensors[name]) for name in names if name in tensors), 1)


def _head(
    folder: SourceFolder,
    take: _FileTensors,
    take_unprefixed: _FileTensors,
    shape: Architecture,
    labels: int,
) -> ClassificationHead:
    d = shape.hidden
    if folder.head:
        return _modules_head(folder, d)
    if shape.family == "distilbert":
        raise ModelError("DistilBERT rerankers are not supported; use a BERT or RoBERTa reranker")
    if labels not in (1, 2):
        raise ModelError(f"the classifier has {labels} labels; a reranker has one or two")
    if shape.family == "modernbert":
        config = read_config(folder)
        return ClassificationHead(
            dense=_modern_linear(take_unprefixed, "head.dense", d, d),
            activation=parse_activation(folder.path, config.get("classifier_activation", "gelu")),
            norm=_modern_norm(take_unprefixed, "head.norm", d),
            out=_one_label(_modern_linear(take_unprefixed, "classifier", d, labels)),
            pooling=_head_pooling(folder, config.get("classifier_pooling", "cls")),
        )
    if shape.family == "bert":
        dense, out = (
            _linear(take, "pooler.dense", d, d),
            _linear(take_unprefixed, "classifier", d, labels),
        )
    else:
        dense = _linear(take_unprefixed, "classifier.dense", d, d)
        out = _linear(take_unprefixed, "classifier.out_proj", d, labels)
    return ClassificationHead(dense, _one_label(out))


def _modules_head(folder: SourceFolder, size: int) -> ClassificationHead:
    """Return the head of a reranker of sentence-transformers, whose parts are modules."""
    names = folder.head
    path = path_inside(folder.path, names[1])
    dense, out = _dense(folder, names[0]), _dense(folder, names[2])
    if out.activation != "identity":
        raise ModelError(
            f"{folder.path}/{names[2]}: activation {out.activation}; a reranker's last is Identity"
        )
    return ClassificationHead(
        dense=dense.linear,
        activation=dense.activation,
        norm=_norm(_FileTensors(path, load_tensors(folder.path, names[1]), ""), "norm", size),
        out=_one_label(out.linear),
        pooling=_head_pooling(folder, folder.pooling),
    )


def _head_pooling(folder: SourceFolder, name: object) -> Literal["cls", "mean"]:
    if name == "mean" or name == "cls":
        return name
    raise ModelError(
        f"{folder.path}: a reranker with the pooling {name}; crx supports cls and mean"
    )


def _one_label(out: Linear) -> Linear:
    """Return the layer of one label; for two, that of the second's logit minus the first's."""
    if out.weight.shape[1] == 1:
        return out
    weight = out.weight[:, 1:] - out.weight[:, :1]
    bias = None if out.bias is None else out.bias[1:] - out.bias[:1]
    return Linear(np.ascontiguousarray(weight), bias)
