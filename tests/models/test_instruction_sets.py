"""Vectors and scores with the kernels of other processors, under qemu's emulation of them.

`make test-processors` runs more tests this way.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_model import make_model

from crx._models.card import Precision
from crx._models.store import add_model, find_model

EMULATOR = "qemu-x86_64"
PROGRAM = """
import json, sys
from pathlib import Path
from crx._backends.onnx import OnnxEmbedder
texts = ["the revenue of 第 二 grew", "revenue", "the the of of grew grew", ""]
embedder = OnnxEmbedder(Path(sys.argv[1]))
print(json.dumps(embedder.embed(texts).tolist()))
"""

pytestmark = pytest.mark.skipif(
    shutil.which(EMULATOR) is None, reason=f"{EMULATOR} is not installed"
)


def embed(folder: Path, *emulator: str) -> NDArray[np.float32]:
    """Return the vectors of a few texts, embedded in a process that an emulator runs."""
    command = [*emulator, sys.executable, "-c", PROGRAM, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return np.array(json.loads(done.stdout), np.float32)


@pytest.mark.parametrize("cpu", ["Haswell", "Nehalem"])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_vectors_are_those_of_this_processor_with_avx2_alone_and_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: Precision, cpu: str
) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    folder = find_model(add_model(make_model(tmp_path / "tiny"), precision=precision).name)
    here, there = embed(folder), embed(folder, EMULATOR, "-cpu", cpu)
    assert np.sum(here * there, axis=1).min() > 0.999
