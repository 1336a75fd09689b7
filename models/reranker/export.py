"""The last step: write the trained weights as the int8 ONNX graph that ships with crx."""

from __future__ import annotations

import shutil
from pathlib import Path

from crx.models import add

NAME = "crx"
HERE = Path(__file__).parent


def export(trained: Path, shipped: Path) -> None:
    """Convert a folder of weights and put it where crx looks for its own reranker.

    The weights are int8, signed, per channel. The licence and the language are taken from the
    model card beside this file.
    """
    shutil.copyfile(HERE / "README.md", trained / "README.md")
    store = trained.parent / "store"
    card = add(trained, name=NAME, precision="int8", into=store)
    shutil.rmtree(shipped, ignore_errors=True)
    shutil.copytree(store / card.name, shipped)
