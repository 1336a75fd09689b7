"""Conversion of GGUF files to Q8_0 by llama.cpp."""

from __future__ import annotations

from pathlib import Path

import pytest

from crx._models.gguf import can_convert_gguf, convert_gguf
from crx.errors import ModelError

pytest.importorskip("llama_cpp", reason='needs llama-cpp-python: pip install "crx[llama]"')
pytest.importorskip("gguf", reason="needs gguf: pip install gguf")

import gguf
import tiny_gguf


def test_matrices_are_converted_to_q8_0_within_its_rounding(tmp_path: Path) -> None:
    source, target = tmp_path / "slow.gguf", tmp_path / "fast.gguf"
    tiny_gguf.random_model(source, tiny_gguf.Shape())
    assert can_convert_gguf()
    convert_gguf(source, target)
    before = {tensor.name: tensor for tensor in gguf.GGUFReader(source).tensors}
    after = {tensor.name: tensor for tensor in gguf.GGUFReader(target).tensors}
    assert before.keys() == after.keys()
    matrices = [name for name, tensor in before.items() if len(tensor.shape) > 1]
    assert matrices
    for name in matrices:
        assert after[name].tensor_type == gguf.GGMLQuantizationType.Q8_0
        old = gguf.dequantize(before[name].data, before[name].tensor_type)
        new = gguf.dequantize(after[name].data, after[name].tensor_type)
        assert abs(old - new).max() <= abs(old).max() / 127


def test_a_file_that_is_no_gguf_is_refused_in_one_line(tmp_path: Path) -> None:
    source = tmp_path / "broken.gguf"
    source.write_bytes(b"GGUF and what follows")
    with pytest.raises(ModelError, match=r"^broken.gguf: llama.cpp cannot convert it to Q8_0: .+$"):
        convert_gguf(source, tmp_path / "fast.gguf")
