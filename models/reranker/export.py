"""Step 4: convert the trained weights to the int8 ONNX graph that is shipped with crx."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from crx._models.card import ModelCard
from crx._models.store import add_model, publish_model

NAME = "crx"
HERE = Path(__file__).parent


def export(trained: Path, *, into: Path | None) -> ModelCard:
    """Convert a folder of weights and store it as `crx`, in the user's store or in `into`.

    Weights are quantized to int8 per channel. The licence and the language come from the README
    beside this file.
    """
    shutil.copyfile(HERE / "README.md", trained / "README.md")
    with tempfile.TemporaryDirectory() as scratch:
        made = add_model(trained, name=NAME, precision="int8", into=Path(scratch))

        def write(target: Path) -> ModelCard:
            shutil.copytree(Path(scratch) / made.name, target, dirs_exist_ok=True)
            return replace(made, name=NAME)

        return publish_model(NAME, into=into, write=write)
