"""Reference forward pass in numpy, against which converted graphs are checked.

Sources: Vaswani et al. 2017 (attention), Devlin et al. 2019 (BERT), Hendrycks and Gimpel 2016
(GELU).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crx.models.card import Pooling
from crx.models.source_folder import Activation, Architecture
from crx_convert.weights import Array, EncoderWeights, Layer, LayerNorm, Linear

_erf = np.frompyfunc(math.erf, 1, 1)


def embed(
    ids: NDArray[np.int64], weights: EncoderWeights, shape: Architecture, pooling: Pooling
) -> Array:
    """Return the (d,) unit vector of a text, given its (length,) token ids."""
    vector = _pool(_encode(ids, np.zeros_like(ids), weights, shape), pooling)
    for dense in weights.dense:
        vector = _linear(vector, dense.linear)
        vector = np.tanh(vector) if dense.activation == "tanh" else vector
    unit: Array = vector / np.linalg.norm(vector)
    return unit


def score(
    ids: NDArray[np.int64],
    segment_ids: NDArray[np.int64],
    weights: EncoderWeights,
    shape: Architecture,
) -> float:
    """Return a reranker's logit for a pair, given its (length,) token ids and segment ids."""
    if weights.head is None:
        raise ValueError("the model has no classification head")
    first = _encode(ids, segment_ids, weights, shape)[0]
    return float(_linear(np.tanh(_linear(first, weights.head.dense)), weights.head.out)[0])


def _encode(
    ids: NDArray[np.int64],
    segment_ids: NDArray[np.int64],
    weights: EncoderWeights,
    shape: Architecture,
) -> Array:
    x: Array = weights.word_embeddings[ids] + weights.position_embeddings[: len(ids)]
    x = x + weights.segment_embeddings[segment_ids]
    x = _norm(x, weights.norm, shape)
    for layer in weights.layers:
        x = _norm(x + _attention(x, layer, shape.heads), layer.attention_norm, shape)
        inner = _activate(_linear(x, layer.up), shape.activation)
        x = _norm(x + _linear(inner, layer.down), layer.norm, shape)
    return x


def _attention(x: Array, layer: Layer, heads: int) -> Array:
    length, hidden = x.shape
    query, key, value = (
        _linear(x, part).reshape(length, heads, -1).swapaxes(0, 1)
        for part in (layer.query, layer.key, layer.value)
    )
    scores = query @ key.swapaxes(1, 2) / np.float32(math.sqrt(hidden // heads))
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    context = scores / scores.sum(axis=-1, keepdims=True) @ value
    return _linear(context.swapaxes(0, 1).reshape(length, hidden), layer.out)


def _linear(x: Array, part: Linear) -> Array:
    y: Array = x @ part.weight + part.bias
    return y


def _norm(x: Array, part: LayerNorm, shape: Architecture) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    y: Array = centred / np.sqrt(variance + np.float32(shape.epsilon)) * part.scale + part.shift
    return y


def _activate(x: Array, activation: Activation) -> Array:
    y: Array
    if activation == "relu":
        y = np.maximum(x, 0)
    elif activation == "gelu_tanh":
        scaled = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x**3)
        y = x * (1 + np.tanh(scaled)) / 2
    else:
        y = x * (1 + _erf(x / np.float32(math.sqrt(2))).astype(np.float32)) / 2
    return y


def _pool(x: Array, pooling: Pooling) -> Array:
    y: Array
    if pooling == "mean":
        y = x.mean(axis=0)
    elif pooling == "max":
        y = x.max(axis=0)
    else:
        y = x[-1] if pooling == "last" else x[0]
    return y
