"""Files of a model that are far larger than any model's are refused unread."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tiny_model import make_model

from crx._models.card import CARD_FILE, TOKENIZER_FILE, read_card
from crx._models.onnx_folder import detect_precision
from crx._models.store import add_model
from crx._models.tokenizer import ModelTokenizer
from crx.errors import ModelError

GIGABYTE = 1_000_000_000


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))


def enlarge(path: Path) -> None:
    """Make a file a gigabyte long, of which the disk keeps little."""
    with path.open("r+b") as file:
        file.truncate(GIGABYTE)


@pytest.mark.parametrize("name", [TOKENIZER_FILE, "config.json", "modules.json"])
def test_a_file_of_a_gigabyte_in_a_model_to_be_added_is_refused(tmp_path: Path, name: str) -> None:
    make_model(tmp_path / "model")
    enlarge(tmp_path / "model" / name)
    with pytest.raises(ModelError, match=rf"{name}: 1,000 MB, more than the \d+ MB that such"):
        add_model(tmp_path / "model")


def test_a_tokenizer_or_a_card_of_a_gigabyte_is_not_loaded(tmp_path: Path) -> None:
    for name in (TOKENIZER_FILE, CARD_FILE):
        (tmp_path / name).touch()
        enlarge(tmp_path / name)
    with pytest.raises(ModelError, match="1,000 MB, more than the 134 MB"):
        ModelTokenizer(tmp_path / TOKENIZER_FILE, sequence=8)
    with pytest.raises(ModelError, match="1,000 MB, more than the 4 MB"):
        read_card(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders")
def test_a_pipe_that_is_named_as_a_tokenizer_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / TOKENIZER_FILE)
    with pytest.raises(ModelError, match="not a regular file"):
        ModelTokenizer(tmp_path / TOKENIZER_FILE, sequence=8)


def test_a_graph_of_a_terabyte_is_refused_unread(tmp_path: Path) -> None:
    graph = tmp_path / "model.onnx"
    graph.touch()
    os.truncate(graph, 1 << 40)
    with pytest.raises(ModelError, match=r"model\.onnx: 1,099,512 MB, more than the 2,147 MB"):
        detect_precision(graph)


def test_a_quantized_operator_is_found_across_blocks(tmp_path: Path) -> None:
    graph = tmp_path / "model.onnx"
    graph.write_bytes(bytes((1 << 20) - 5) + b"DynamicQuantizeLinear")
    assert detect_precision(graph) == "int8"
    graph.write_bytes(bytes(1 << 21))
    assert detect_precision(graph) == "fp32"
