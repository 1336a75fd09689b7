"""Mean of the weights of checkpoints.

The mean of weights after training and before it often ranks texts unlike those of the training
better than either (Wortsman et al. 2022).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from safetensors.numpy import load_file, save_file

WEIGHTS = "model.safetensors"


def average(shares: Mapping[Path, float], out: Path) -> None:
    """Write the mean of the weights of some folders, each with its share, to a folder.

    Config and tokenizer are those of the first.
    """
    total = sum(shares.values())
    parts = [(share / total, load_file(folder / WEIGHTS)) for folder, share in shares.items()]
    shutil.copytree(next(iter(shares)), out, dirs_exist_ok=True)
    mean = {name: sum(share * tensors[name] for share, tensors in parts) for name in parts[0][1]}
    save_file(mean, out / WEIGHTS, metadata={"format": "pt"})
