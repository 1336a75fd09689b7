"""Int8 of a random ModernBERT, beside the reference in single precision."""

from __future__ import annotations

import numpy as np

from crx._models.onnx_runtime import onnxruntime
from crx._models.source_folder import Architecture, RotaryAttention
from crx_convert import reference
from crx_convert.graph import write_graph
from crx_convert.weights import EncoderWeights, Layer, LayerNorm, Linear

HIDDEN, WIDE, LAYERS, TOKENS = 128, 768, 6, 100
SHAPE = Architecture(
    family="modernbert",
    layers=LAYERS,
    heads=4,
    hidden=HIDDEN,
    intermediate=WIDE,
    vocabulary=TOKENS,
    positions=64,
    first_position=0,
    segments=0,
    activation="gelu",
    epsilon=1e-5,
    rotary=RotaryAttention(
        is_local=(False, True, True) * (LAYERS // 3), window=8, bases=(160000.0, 10000.0)
    ),
)


def random_weights(numbers: np.random.Generator) -> EncoderWeights:
    """Return weights with which each part of each layer changes the vector about as much."""

    def draw(inputs: int, outputs: int) -> Linear:
        weight = numbers.normal(0, inputs**-0.5, (inputs, outputs))
        return Linear(weight.astype(np.float32), None)

    norm = LayerNorm(np.ones(HIDDEN, np.float32), np.zeros(HIDDEN, np.float32))
    layers = tuple(
        Layer(
            query=draw(HIDDEN, HIDDEN),
            key=draw(HIDDEN, HIDDEN),
            value=draw(HIDDEN, HIDDEN),
            out=draw(HIDDEN, HIDDEN),
            attention_norm=norm,
            up=draw(HIDDEN, WIDE),
            down=draw(WIDE, HIDDEN),
            norm=norm,
            gate=draw(HIDDEN, WIDE),
        )
        for _ in range(LAYERS)
    )
    table = numbers.normal(size=(TOKENS, HIDDEN)).astype(np.float32)
    return EncoderWeights(table, None, None, norm, layers, (), None, norm)


def test_int8_keeps_the_vector_of_the_first_token() -> None:
    """The mean error is 5.3e-4; one scale for 384 columns, or attention in int8, adds a tenth."""
    numbers = np.random.default_rng(0)
    weights = random_weights(numbers)
    model = write_graph(weights, SHAPE, pooling="cls", precision="int8")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    texts = numbers.integers(0, TOKENS, (200, 6))
    vectors = session.run(None, {"input_ids": texts})[0]
    expected = [reference.embed(ids, weights, SHAPE, "cls") for ids in texts]
    cosines = np.sum(vectors * expected, axis=1)
    assert cosines.mean() > 1 - 5.6e-4
    assert cosines.min() > 0.998
