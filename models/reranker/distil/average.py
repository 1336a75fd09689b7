"""Mean of the weights of checkpoints.

The mean of weights after training and before it often ranks texts unlike those of the training
better than either (Wortsman et al. 2022).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

WEIGHTS = "model.safetensors"


def average(shares: Mapping[Path, float], out: Path) -> None:
    """Write the mean of the weights of some folders, each with its share, to a folder.

    Config and tokenizer are those of the first.
    """
    total = sum(shares.values())
    mean: dict[str, NDArray[np.float32]] = {}
    for folder, share in shares.items():
        for name, values in load_file(folder / WEIGHTS).items():
            part = np.asarray(values * np.float32(share / total), np.float32)
            mean[name] = mean[name] + part if name in mean else part
    shutil.copytree(next(iter(shares)), out, dirs_exist_ok=True)
    save_file(mean, out / WEIGHTS, metadata={"format": "pt"})
