"""Small GGUF files."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_model import pull_real_model


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the files."""
    pytest.importorskip("llama_cpp")
    pytest.importorskip("gguf")
    import tiny_gguf

    folder = tmp_path_factory.mktemp("models")
    tiny_gguf.random_model(folder / "random.gguf", tiny_gguf.Shape(sharp=2.0))
    tiny_gguf.random_model(folder / "sliding.gguf", tiny_gguf.Shape(layers=6, sliding=64))
    tiny_gguf.recurrent(folder / "recurrent.gguf")
    tiny_gguf.parrot(folder / "parrot.gguf")
    tiny_gguf.embedder(folder / "embedder.gguf")
    return folder


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct."""
    return pull_real_model()
