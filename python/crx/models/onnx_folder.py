"""A folder that brings its own ONNX graph, used as it is: no card, no conversion."""

from __future__ import annotations

import mmap
from pathlib import Path

from crx.errors import ModelError
from crx.models.card import CARD, GRAPH, TOKENIZER, ModelCard, Precision, file_digest
from crx.models.source_folder import Folder, read_folder

_GRAPHS = ("onnx/model.onnx", "model.onnx", "onnx/model_quantized.onnx", "model_quantized.onnx")
_QUANTIZED = b"DynamicQuantize"


def is_bare(path: Path) -> bool:
    """Tell whether a path is a model's folder that is not of the store."""
    return (path / "config.json").is_file() and not (path / CARD).is_file()


def find_graph(folder: Folder) -> Path | None:
    """Return the ONNX file that a folder brings, or None."""
    paths = (folder.file(name) for name in _GRAPHS)
    return next((path for path in paths if path.is_file()), None)


def precision_of(graph: Path) -> Precision:
    """Return "int8" where a graph quantizes its activations as they come, or says so by name.

    Such a graph's output depends on its batch. The names of a graph's operators stand in its file
    as they are.
    """
    if "quantized" in graph.name:
        return "int8"
    if not graph.stat().st_size:
        raise ModelError(f"{graph}: empty; take the file anew")
    with graph.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as read:
        return "int8" if read.find(_QUANTIZED) >= 0 else "fp32"


def read_bare(path: Path) -> tuple[ModelCard, Path]:
    """Return a card of a reranker's folder, made from its files, and the path of its graph.

    Raises `ModelError` where the folder holds no reranker, no graph or no tokenizer.
    """
    folder = read_folder(path)
    graph, tokenizer = find_graph(folder), folder.file(TOKENIZER)
    if folder.kind != "reranker":
        raise ModelError(f"{path}: an embedder, not a reranker; crx models add FOLDER takes it")
    if graph is None:
        raise ModelError(f"{path}: no ONNX graph; convert it with crx models add {path}")
    if not tokenizer.is_file():
        raise ModelError(f"{tokenizer}: no such file; save the model with its fast tokenizer")
    return ModelCard(
        name=path.resolve().name,
        kind="reranker",
        dimensions=1,
        sequence=folder.sequence,
        max_tokens=folder.sequence,
        pooling="none",
        query_prefix="",
        passage_prefix="",
        precision=precision_of(graph),
        licence=folder.licence,
        source=path.resolve().name,
        converter=0,
        opset=0,
        files={GRAPH: file_digest(graph), TOKENIZER: file_digest(tokenizer)},
        languages=folder.languages,
    ), graph
