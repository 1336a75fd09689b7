"""The network of a GGUF file of the architecture `llama`, in torch, with the names of the file.

Weights have the layout of the file: the rows of queries and keys are ordered for a rotation of
neighbouring pairs. So a tensor is written back under its name, unchanged in shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes that a file declares."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    rotation: float
    epsilon: float

    @staticmethod
    def of(reader: gguf.GGUFReader) -> Shape:
        """Read the sizes from a file of the architecture `llama`."""

        def field(name: str) -> float:
            value: float = reader.fields[f"llama.{name}"].contents()
            return value

        return Shape(
            int(field("block_count")),
            int(field("embedding_length")),
            int(field("attention.head_count")),
            int(field("attention.head_count_kv")),
            field("rope.freq_base"),
            field("attention.layer_norm_rms_epsilon"),
        )


class Network(nn.Module):
    """A decoder whose output layer is its embedding; one sequence at a time.

    Weights and the states between layers are float32. Products are computed in `precision`.
    """

    def __init__(
        self,
        shape: Shape,
        tensors: dict[str, torch.Tensor],
        *,
        precision: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.shape = shape
        self.precision = precision
        self.weights = nn.ParameterDict(
            {name.replace(".", "/"): nn.Parameter(t) for name, t in tensors.items()}
        )

    @staticmethod
    def read(path: Path, *, precision: torch.dtype = torch.float32) -> Network:
        """Read a file; quantized weights are converted to single precision."""
        reader = gguf.GGUFReader(path)
        tensors = {
            tensor.name: torch.from_numpy(
                gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
            )
            for tensor in reader.tensors
        }
        return Network(Shape.of(reader), tensors, precision=precision)

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return the weights by their names in the file."""
        return {name.replace("/", "."): weight for name, weight in self.weights.items()}

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return (n, width): the embeddings of the tokens of a sequence."""
        return functional.embedding(tokens, self._weight("token_embd"))

    def run(self, hidden: torch.Tensor, layers: range) -> torch.Tensor:
        """Return (n, width): the states of a sequence after some layers."""
        cos, sin = self._angles(len(hidden))
        for layer in layers:
            block = f"blk.{layer}"
            normed = self._norm(hidden, f"{block}.attn_norm")
            hidden = hidden + self._attend(normed, block, cos, sin)
            hidden = hidden + self._feed(self._norm(hidden, f"{block}.ffn_norm"), block)
        return hidden

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return (n, vocabulary), in float32, from the states after the last layer."""
        normed = self._norm(hidden, "output_norm")
        return self._multiply(normed, "token_embd").float()

    def _weight(self, name: str) -> torch.Tensor:
        weight: torch.Tensor = self.weights[f"{name}.weight".replace(".", "/")]
        return weight

    def _norm(self, hidden: torch.Tensor, name: str) -> torch.Tensor:
        weight = self._weight(name)
        normed = functional.rms_norm(hidden, (self.shape.width,), weight, self.shape.epsilon)
        return normed.to(self.precision)

    def _multiply(self, rows: torch.Tensor, name: str) -> torch.Tensor:
        return functional.linear(rows, self._weight(name).to(self.precision))

    def _attend(
        self, hidden: torch.Tensor, block: str, cos: torch.Tensor, sin: torch.Tensor
    ) -> torch.Tensor:
        def project(name: str, heads: int) -> torch.Tensor:
            rows = self._multiply(hidden, f"{block}.attn_{name}")
            return rows.view(len(hidden), heads, -1).transpose(0, 1)

        shared = self.shape.heads // self.shape.kv_heads
        queries = _rotate(project("q", self.shape.heads), cos, sin)
        keys = _rotate(project("k", self.shape.kv_heads), cos, sin).repeat_interleave(shared, 0)
        values = project("v", self.shape.kv_heads).repeat_interleave(shared, 0)
        mixed = functional.scaled_dot_product_attention(
            queries[None], keys[None], values[None], is_causal=True
        )[0]
        rows = mixed.transpose(0, 1).reshape(len(hidden), -1)
        return self._multiply(rows, f"{block}.attn_output")

    def _feed(self, hidden: torch.Tensor, block: str) -> torch.Tensor:
        gate = functional.silu(self._multiply(hidden, f"{block}.ffn_gate"))
        return self._multiply(gate * self._multiply(hidden, f"{block}.ffn_up"), f"{block}.ffn_down")

    def _angles(self, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (length, half a head): cosine and sine of each position's rotations."""
        size = self.shape.width // self.shape.heads
        rates = self.shape.rotation ** (-torch.arange(0, size, 2, dtype=torch.float32) / size)
        angles = torch.arange(length, dtype=torch.float32)[:, None] * rates
        return angles.cos().to(self.precision), angles.sin().to(self.precision)


def _rotate(rows: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate neighbouring pairs of numbers by the angles of their positions.

    The first numbers of all pairs come first in the result, which changes no product of two.
    """
    even, odd = rows[..., 0::2], rows[..., 1::2]
    return torch.cat((even * cos - odd * sin, even * sin + odd * cos), -1)
