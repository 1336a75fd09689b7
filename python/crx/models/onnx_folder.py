"""Model folders with their own ONNX graph, which is used without conversion."""

from __future__ import annotations

from pathlib import Path

from crx.errors import ModelError
from crx.models.card import (
    CARD_FILE,
    GRAPH_FILE,
    TOKENIZER_FILE,
    ModelCard,
    Precision,
    file_digest,
    require_small,
)
from crx.models.external_data import external_files

_QUANTIZE_OPERATOR = b"DynamicQuantize"
# Protocol Buffers allow no longer message; larger weights are in files beside it.
_MAX_GRAPH_BYTES = 1 << 31
_BLOCK_BYTES = 1 << 20


def is_source_folder(path: Path) -> bool:
    """Return whether a path is a model folder that was not converted by crx."""
    return (path / "config.json").is_file() and not (path / CARD_FILE).is_file()


def detect_precision(graph: Path) -> Precision:
    """Return "int8" if a graph quantizes activations dynamically or is named so, else "fp32".

    The output of such a graph depends on the batch. The operator is found by its name, which an
    ONNX file contains as plain text.
    """
    if "quantized" in graph.name:
        return "int8"
    if not graph.stat().st_size:
        raise ModelError(f"{graph}: empty; download the file again")
    require_small(graph, _MAX_GRAPH_BYTES)
    end = b""
    with graph.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            if _QUANTIZE_OPERATOR in end + block:
                return "int8"
            end = block[-len(_QUANTIZE_OPERATOR) :]
    return "fp32"


def read_reranker_folder(path: Path) -> tuple[ModelCard, Path]:
    """Return a card made from the files of a reranker's folder, and the path of its graph.

    Raises `ModelError` if the folder is not a reranker's, or has no ONNX graph or no tokenizer.
    """
    # not imported for a model of the store
    from crx.models.source_folder import find_graph, read_folder

    folder = read_folder(path)
    graph, tokenizer = find_graph(path), folder.path_of(TOKENIZER_FILE)
    if folder.kind != "reranker":
        raise ModelError(f"{path}: an embedder, not a reranker; add it with crx models add {path}")
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
        precision=detect_precision(graph),
        licence=folder.licence,
        source=path.resolve().name,
        converter=0,
        opset=0,
        files={
            GRAPH_FILE: file_digest(graph),
            TOKENIZER_FILE: file_digest(tokenizer),
            **_digest_tensors(graph),
        },
        languages=folder.languages,
    ), graph


def _digest_tensors(graph: Path) -> dict[str, str]:
    """Return the digest of each file beside a graph that it reads tensors from, by name."""
    beside = (graph.with_name(name) for name in external_files(graph) if Path(name).name == name)
    return {path.name: file_digest(path) for path in beside if _is_inside(path, graph.parent)}


def _is_inside(path: Path, folder: Path) -> bool:
    return path.is_file() and path.resolve().parent == folder.resolve()
