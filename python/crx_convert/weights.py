"""Weights of a model folder: safetensors under uniform names, with every shape checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from crx.errors import ModelError
from crx.models.source_folder import Architecture, SourceFolder, path_inside, read_dense_config

Array = NDArray[np.float32]
TensorReader = Callable[[str, tuple[int, ...]], Array]

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
    """`x @ weight + bias`: weight (inputs, outputs), bias (outputs,)."""

    weight: Array
    bias: Array


@dataclass(frozen=True, slots=True)
class LayerNorm:
    """Scale and shift of a layer normalization, (hidden,) each."""

    scale: Array
    shift: Array


@dataclass(frozen=True, slots=True)
class Layer:
    """One encoder layer: attention, its layer norm, the feed-forward network, its layer norm."""

    query: Linear
    key: Linear
    value: Linear
    out: Linear
    attention_norm: LayerNorm
    up: Linear
    down: Linear
    norm: LayerNorm


@dataclass(frozen=True, slots=True)
class DenseLayer:
    """A projection of the pooled vector."""

    linear: Linear
    activation: Literal["identity", "tanh"]


@dataclass(frozen=True, slots=True)
class ClassificationHead:
    """A reranker's classification head: the first token, `dense`, tanh, `out`, one logit.

    For a model with two labels, the logit is the second label's minus the first's: its sigmoid is
    the softmax of the two.
    """

    dense: Linear
    out: Linear


@dataclass(frozen=True, slots=True)
class EncoderWeights:
    """All weights of an encoder. Row 0 of `position_embeddings` is that of the first token.

    `segment_embeddings` has one row if the model does not use segment ids.
    """

    word_embeddings: Array | Q4Matrix
    position_embeddings: Array
    segment_embeddings: Array
    norm: LayerNorm
    layers: tuple[Layer, ...]
    dense: tuple[DenseLayer, ...]
    head: ClassificationHead | None


def read_weights(folder: SourceFolder, shape: Architecture) -> EncoderWeights:
    """Read the weights of a folder; `ModelError` if one is missing or has the wrong shape."""
    tensors = _load_tensors(folder.path)
    take = _tensor_reader(folder.path, tensors, _name_prefix(tensors, shape))
    d = shape.hidden
    word_embeddings = take("embeddings.word_embeddings.weight", (shape.vocabulary, d))
    position_embeddings = take("embeddings.position_embeddings.weight", (shape.positions, d))
    segment_embeddings = (
        take("embeddings.token_type_embeddings.weight", (shape.segments, d))
        if shape.segments
        else np.zeros((1, d), np.float32)
    )
    take_unprefixed = _tensor_reader(folder.path, tensors, "")
    head = (
        _head(take, take_unprefixed, shape, _label_count(tensors))
        if folder.kind == "reranker"
        else None
    )
    return EncoderWeights(
        word_embeddings=word_embeddings,
        position_embeddings=position_embeddings[shape.first_position :][: folder.sequence],
        segment_embeddings=segment_embeddings,
        norm=_norm(take, "embeddings.LayerNorm", d),
        layers=tuple(_layer(take, shape, index) for index in range(shape.layers)),
        dense=tuple(_dense(folder, name) for name in folder.dense),
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
    take = _tensor_reader(path, tensors, "")
    return shape, tuple(_layer(take, shape, index) for index in range(shape.layers))


def _load_tensors(path: Path) -> Mapping[str, Array]:
    file = path_inside(path, "model.safetensors")
    if not file.exists():
        pickled = sorted(path.glob("*.bin"))
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


def _name_prefix(tensors: Mapping[str, Array], shape: Architecture) -> str:
    """Return the prefix of the encoder's tensor names: "" or the family's, such as "bert."."""
    prefixes = ("", "bert.", "roberta.", "distilbert.", "model.")
    found = (each for each in prefixes if f"{each}embeddings.word_embeddings.weight" in tensors)
    return next(found, f"{shape.family}.")


def _tensor_reader(path: Path, tensors: Mapping[str, Array], prefix: str) -> TensorReader:
    def take(name: str, shape: tuple[int, ...]) -> Array:
        array = tensors.get(prefix + name)
        if array is None:
            raise ModelError(f"{path}: no tensor {prefix}{name}; download the complete model")
        if array.shape != shape:
            raise ModelError(
                f"{path}: tensor {prefix}{name} has the shape {array.shape}, not {shape}; "
                "use the weights and the config.json of one model"
            )
        return array.astype(np.float32)

    return take


def _linear(take: TensorReader, name: str, inputs: int, outputs: int) -> Linear:
    weight = take(f"{name}.weight", (outputs, inputs))
    return Linear(np.ascontiguousarray(weight.T), take(f"{name}.bias", (outputs,)))


def _norm(take: TensorReader, name: str, size: int) -> LayerNorm:
    return LayerNorm(take(f"{name}.weight", (size,)), take(f"{name}.bias", (size,)))


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


def _layer(take: TensorReader, shape: Architecture, index: int) -> Layer:
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
    config = read_dense_config(folder, name)
    activation = str(config.get("activation_function", "")).rpartition(".")[2].lower()
    if activation not in ("identity", "tanh"):
        raise ModelError(
            f"{folder.path}/{name}: activation {activation}; crx supports Identity and Tanh"
        )
    inputs, outputs = config.get("in_features"), config.get("out_features")
    if not isinstance(inputs, int) or not isinstance(outputs, int):
        raise ModelError(f"{folder.path}/{name}: config.json has no in_features or out_features")
    path = path_inside(folder.path, name)
    take = _tensor_reader(path, _load_tensors(path), "")
    weight = np.ascontiguousarray(take("linear.weight", (outputs, inputs)).T)
    bias = (
        take("linear.bias", (outputs,))
        if config.get("bias", True)
        else np.zeros(outputs, np.float32)
    )
    return DenseLayer(Linear(weight, bias), "tanh" if activation == "tanh" else "identity")


def _label_count(tensors: Mapping[str, Array]) -> int:
    """Return the number of a classifier's labels: the rows of its last weight."""
    names = ("classifier.out_proj.weight", "classifier.weight")
    return next((len(tensors[name]) for name in names if name in tensors), 1)


def _head(
    take: TensorReader, take_unprefixed: TensorReader, shape: Architecture, labels: int
) -> ClassificationHead:
    d = shape.hidden
    if shape.family == "distilbert":
        raise ModelError("DistilBERT rerankers are not supported; use a BERT or RoBERTa reranker")
    if labels not in (1, 2):
        raise ModelError(f"the classifier has {labels} labels; a reranker has one or two")
    if shape.family == "bert":
        dense, out = (
            _linear(take, "pooler.dense", d, d),
            _linear(take_unprefixed, "classifier", d, labels),
        )
    else:
        dense = _linear(take_unprefixed, "classifier.dense", d, d)
        out = _linear(take_unprefixed, "classifier.out_proj", d, labels)
    return ClassificationHead(dense, out if labels == 1 else _label_difference(out))


def _label_difference(out: Linear) -> Linear:
    """Return the layer that gives the second label's logit minus the first's."""
    weight = out.weight[:, 1:] - out.weight[:, :1]
    return Linear(np.ascontiguousarray(weight), out.bias[1:] - out.bias[:1])
