"""Reference forward pass in numpy, against which converted graphs are checked.

Sources: Vaswani et al. 2017 (attention), Devlin et al. 2019 (BERT), Hendrycks and Gimpel 2016
(GELU), Su et al. 2021 (rotary positions), Warner et al. 2024 (ModernBERT).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crx._models.card import Pooling
from crx._models.source_folder import Activation, Architecture
from crx_convert.weights import Array, DenseActivation, EncoderWeights, Layer, LayerNorm, Linear

_erf = np.frompyfunc(math.erf, 1, 1)


def embed(
    ids: NDArray[np.int64], weights: EncoderWeights, shape: Architecture, pooling: Pooling
) -> Array:
    """Return the (d,) unit vector of a text, given its (length,) token ids.

    With `pooling="tokens"`, the result is (length, d): a unit vector for each token.
    """
    vector = _pool(_encode(ids, np.zeros_like(ids), weights, shape), pooling)
    for dense in weights.dense:
        vector = _activate(_linear(vector, dense.linear), dense.activation)
    unit: Array = vector / np.linalg.norm(vector, axis=-1, keepdims=True)
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
    head = weights.head
    pooled = _pool(_encode(ids, segment_ids, weights, shape), head.pooling)
    hidden = _activate(_linear(pooled, head.dense), head.activation)
    hidden = hidden if head.norm is None else _norm(hidden, head.norm, shape)
    return float(_linear(hidden, head.out)[0])


def _encode(
    ids: NDArray[np.int64],
    segment_ids: NDArray[np.int64],
    weights: EncoderWeights,
    shape: Architecture,
) -> Array:
    x: Array = weights.word_embeddings[ids]
    if weights.position_embeddings is not None and weights.segment_embeddings is not None:
        x = x + weights.position_embeddings[: len(ids)] + weights.segment_embeddings[segment_ids]
    x = _norm(x, weights.norm, shape)
    for at, layer in enumerate(weights.layers):
        if shape.rotary is None:
            x = _norm(x + _attention(x, layer, shape, at), layer.attention_norm, shape)
            x = _norm(x + _feed_forward(x, layer, shape), layer.norm, shape)
        else:
            x = x + _attention(_norm(x, layer.attention_norm, shape), layer, shape, at)
            x = x + _feed_forward(_norm(x, layer.norm, shape), layer, shape)
    return _norm(x, weights.final_norm, shape)


def _feed_forward(x: Array, layer: Layer, shape: Architecture) -> Array:
    inner = _activate(_linear(x, layer.up), shape.activation)
    if layer.gate is not None:
        inner = inner * _linear(x, layer.gate)
    return _linear(inner, layer.down)


def _attention(x: Array, layer: Layer, shape: Architecture, at: int) -> Array:
    (length, hidden), heads = x.shape, shape.heads
    query, key, value = (
        _linear(x, part).reshape(length, heads, -1).swapaxes(0, 1)
        for part in (layer.query, layer.key, layer.value)
    )
    is_seen = np.ones((length, length), bool)
    if shape.rotary is not None:
        is_local = shape.rotary.is_local[at]
        query, key = (_rotate(each, shape.rotary.bases[is_local]) for each in (query, key))
        positions = np.arange(length)
        if is_local:
            is_seen = np.abs(positions[:, None] - positions) <= shape.rotary.window
    scores = query @ key.swapaxes(1, 2) / np.float32(math.sqrt(hidden // heads))
    scores = np.where(is_seen, scores, -np.inf)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    context = scores / scores.sum(axis=-1, keepdims=True) @ value
    return _linear(context.swapaxes(0, 1).reshape(length, hidden), layer.out)


def _rotate(x: Array, base: float) -> Array:
    """Return (heads, length, size) vectors whose halves are rotated by their positions."""
    length, size = x.shape[1:]
    frequencies = base ** -(np.arange(0, size, 2) / size)
    angles = np.arange(length)[:, None] * frequencies
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    left, right = np.split(x, 2, axis=-1)
    return np.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)


def _linear(x: Array, part: Linear) -> Array:
    y: Array = x @ part.weight
    return y if part.bias is None else y + part.bias


def _norm(x: Array, part: LayerNorm | None, shape: Architecture) -> Array:
    if part is None:
        return x
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    y: Array = centred / np.sqrt(variance + np.float32(shape.epsilon)) * part.scale + part.shift
    return y


def _activate(x: Array, activation: Activation | DenseActivation) -> Array:
    y: Array
    if activation == "identity":
        y = x
    elif activation == "relu":
        y = np.maximum(x, 0)
    elif activation == "tanh":
        y = np.tanh(x)
    elif activation == "silu":
        y = x / (1 + np.exp(-x))
    elif activation == "gelu_tanh":
        scaled = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x**3)
        y = x * (1 + np.tanh(scaled)) / 2
    else:
        y = x * (1 + _erf(x / np.float32(math.sqrt(2))).astype(np.float32)) / 2
    return y


def _pool(x: Array, pooling: Pooling) -> Array:
    y: Array
    if pooling == "tokens":
        y = x
    elif pooling == "mean":
        y = x.mean(axis=0)
    elif pooling == "max":
        y = x.max(axis=0)
    else:
        y = x[-1] if pooling == "last" else x[0]
    return y
