"""A folder's safetensors, under one set of names, every shape checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from crx.errors import ModelError
from crx.models.source_folder import Architecture, Folder, inside, read_dense

Array = NDArray[np.float32]
Take = Callable[[str, tuple[int, ...]], Array]

# Columns that share a scale in `Blocks`.
BLOCK = 32
# The code that stands for 0.
CODE_ZERO = 8


@dataclass(frozen=True, slots=True)
class Blocks:
    """A matrix of 4-bit codes, a scale for each 32 columns: `(code - 8) * scale`.

    `codes` is (rows, columns) uint8 below 16, `scales` (rows, columns / 32) float16.
    """

    codes: NDArray[np.uint8]
    scales: NDArray[np.float16]

    def __getitem__(self, rows: NDArray[np.int64]) -> Array:
        """Return the values of some rows."""
        return Blocks(self.codes[rows], self.scales[rows]).floats()

    def floats(self) -> Array:
        """Return all values, in the shape of the codes."""
        values = self.codes.astype(np.float32) - CODE_ZERO
        blocks = values.reshape(*self.scales.shape, BLOCK)
        product: Array = blocks * self.scales[..., None].astype(np.float32)
        return product.reshape(self.codes.shape)


@dataclass(frozen=True, slots=True)
class Linear:
    """`x @ weight + bias`: weight (inputs, outputs), bias (outputs,)."""

    weight: Array
    bias: Array


@dataclass(frozen=True, slots=True)
class Norm:
    """A layer normalization's scale and shift, (hidden,) each."""

    scale: Array
    shift: Array


@dataclass(frozen=True, slots=True)
class Layer:
    """One encoder layer: attention and its norm, the two halves of the feed-forward, its norm."""

    query: Linear
    key: Linear
    value: Linear
    out: Linear
    attention_norm: Norm
    up: Linear
    down: Linear
    norm: Norm


@dataclass(frozen=True, slots=True)
class DenseLayer:
    """A projection of the pooled vector."""

    linear: Linear
    activation: Literal["identity", "tanh"]


@dataclass(frozen=True, slots=True)
class Head:
    """A reranker's classifier over the first token: tanh between the two, one score out.

    Of two labels the score is the second's logit less the first's: its sigmoid is their softmax.
    """

    dense: Linear
    out: Linear


@dataclass(frozen=True, slots=True)
class EncoderWeights:
    """A whole model. `positions` starts at the row that the first token takes.

    `segments` has one row where the model tells no segments apart.
    """

    words: Array | Blocks
    positions: Array
    segments: Array
    norm: Norm
    layers: tuple[Layer, ...]
    dense: tuple[DenseLayer, ...]
    head: Head | None


def read_weights(folder: Folder, shape: Architecture) -> EncoderWeights:
    """Read the weights of a folder; `ModelError` where one is missing or of another shape."""
    tensors = _tensors(folder.path)
    take = _taker(folder.path, tensors, _prefix(tensors, shape))
    d = shape.hidden
    words = take("embeddings.word_embeddings.weight", (shape.vocabulary, d))
    positions = take("embeddings.position_embeddings.weight", (shape.positions, d))
    segments = (
        take("embeddings.token_type_embeddings.weight", (shape.segments, d))
        if shape.segments
        else np.zeros((1, d), np.float32)
    )
    bare = _taker(folder.path, tensors, "")
    return EncoderWeights(
        words=words,
        positions=positions[shape.first_position :][: folder.sequence],
        segments=segments,
        norm=_norm(take, "embeddings.LayerNorm", d),
        layers=tuple(_layer(take, shape, index) for index in range(shape.layers)),
        dense=tuple(_dense(folder, name) for name in folder.dense),
        head=_head(take, bare, shape, _labels(tensors)) if folder.kind == "reranker" else None,
    )


def _tensors(path: Path) -> Mapping[str, Array]:
    file = inside(path, "model.safetensors")
    if not file.exists():
        pickled = sorted(path.glob("*.bin"))
        if pickled:
            raise ModelError(
                f"{pickled[0]}: pickled weights can run code and are not read; "
                "save the model with safe_serialization=True"
            )
        raise ModelError(f"{file}: no such file; take a folder with its weights in safetensors")
    try:
        return load_file(file)
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise ModelError(f"{file}: not readable ({error}); take the file anew") from error


def _prefix(tensors: Mapping[str, Array], shape: Architecture) -> str:
    """Return what stands before the encoder's names: "" or the family's, as "bert."."""
    marks = ("", "bert.", "roberta.", "distilbert.", "model.")
    names = (mark for mark in marks if f"{mark}embeddings.word_embeddings.weight" in tensors)
    return next(names, f"{shape.family}.")


def _taker(path: Path, tensors: Mapping[str, Array], prefix: str) -> Take:
    def take(name: str, wanted: tuple[int, ...]) -> Array:
        array = tensors.get(prefix + name)
        if array is None:
            raise ModelError(f"{path}: no weight {prefix}{name}; take the whole model")
        if array.shape != wanted:
            raise ModelError(
                f"{path}: weight {prefix}{name} is {array.shape}, config.json says {wanted}"
            )
        return array.astype(np.float32)

    return take


def _linear(take: Take, name: str, inputs: int, outputs: int) -> Linear:
    weight = take(f"{name}.weight", (outputs, inputs))
    return Linear(np.ascontiguousarray(weight.T), take(f"{name}.bias", (outputs,)))


def _norm(take: Take, name: str, size: int) -> Norm:
    return Norm(take(f"{name}.weight", (size,)), take(f"{name}.bias", (size,)))


# The names of a layer's parts, in the order of `Layer`.
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


def _layer(take: Take, shape: Architecture, index: int) -> Layer:
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


def _dense(folder: Folder, name: str) -> DenseLayer:
    config = read_dense(folder, name)
    activation = str(config.get("activation_function", "")).rpartition(".")[2].lower()
    if activation not in ("identity", "tanh"):
        raise ModelError(f"{folder.path}/{name}: activation {activation}; crx has Identity, Tanh")
    inputs, outputs = config.get("in_features"), config.get("out_features")
    if not isinstance(inputs, int) or not isinstance(outputs, int):
        raise ModelError(f"{folder.path}/{name}: config.json names no sizes")
    place = inside(folder.path, name)
    tensors = _tensors(place)
    take = _taker(place, tensors, "")
    weight = np.ascontiguousarray(take("linear.weight", (outputs, inputs)).T)
    bias = (
        take("linear.bias", (outputs,))
        if config.get("bias", True)
        else np.zeros(outputs, np.float32)
    )
    return DenseLayer(Linear(weight, bias), "tanh" if activation == "tanh" else "identity")


def _labels(tensors: Mapping[str, Array]) -> int:
    """Return how many labels a classifier has: the rows of its last weight."""
    names = ("classifier.out_proj.weight", "classifier.weight")
    return next((len(tensors[name]) for name in names if name in tensors), 1)


def _head(take: Take, bare: Take, shape: Architecture, labels: int) -> Head:
    d = shape.hidden
    if shape.family == "distilbert":
        raise ModelError("a DistilBERT reranker; crx converts BERT and RoBERTa rerankers")
    if labels not in (1, 2):
        raise ModelError(f"a classifier of {labels} labels; a reranker has one or two")
    if shape.family == "bert":
        dense, out = _linear(take, "pooler.dense", d, d), _linear(bare, "classifier", d, labels)
    else:
        dense = _linear(bare, "classifier.dense", d, d)
        out = _linear(bare, "classifier.out_proj", d, labels)
    return Head(dense, out if labels == 1 else _difference(out))


def _difference(out: Linear) -> Linear:
    weight = out.weight[:, 1:] - out.weight[:, :1]
    return Linear(np.ascontiguousarray(weight), out.bias[1:] - out.bias[:1])
