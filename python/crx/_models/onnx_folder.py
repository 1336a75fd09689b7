"""Model folders with their own ONNX graph, which is used without conversion, and external data.

A graph names the files that ONNX Runtime would read its tensors from. One that leads out of the
model's folder would read any file of the user, so the names are looked for before it is loaded.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path

from crx import _native
from crx._models.card import (
    CARD_FILE,
    GRAPH_FILE,
    TOKENIZER_FILE,
    ModelCard,
    Precision,
    file_digest,
    require_small,
)
from crx.errors import ModelError

_QUANTIZE_OPERATOR = b"DynamicQuantize"
# Protocol Buffers allow no longer message; larger weights are in files beside it.
_MAX_GRAPH_BYTES = 1 << 31


def is_source_folder(path: Path) -> bool:
    """Return whether a path is a model folder that was not converted by crx."""
    return (path / "config.json").is_file() and not (path / CARD_FILE).is_file()


def external_files(graph: Path) -> set[str]:
    """Return the names of the files that a graph reads tensors from, as it gives them.

    Raises `ModelError` if the file is no ONNX graph.
    """
    try:
        return _native.onnx_external_files(graph)
    except (ValueError, OSError) as error:
        raise ModelError(f"{graph}: not an ONNX graph ({error}); get the model again") from None


def require_own_files(graph: Path, known: Mapping[str, str]) -> None:
    """Raise `ModelError` if a graph reads tensors from a file that its model's card does not list.

    The files of a card lie in the model's folder, and their hashes are checked.
    """
    for name in sorted(external_files(graph) - known.keys()):
        raise ModelError(
            f"{graph}: reads tensors from {name!r}, which is no file of the model; "
            "get the model from a source that you trust"
        )


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
    with graph.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return "fp32" if data.find(_QUANTIZE_OPERATOR) < 0 else "int8"


def read_reranker_folder(path: Path) -> tuple[ModelCard, Path]:
    """Return a card made from the files of a reranker's folder, and the path of its graph.

    Raises `ModelError` if the folder is not a reranker's, or has no ONNX graph or no tokenizer.
    """
    # not imported for a model of the store
    from crx._models.source_folder import find_graph, read_folder

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
    folder = graph.parent.resolve()
    beside = [graph.with_name(name) for name in external_files(graph) if Path(name).name == name]
    own = (path for path in beside if path.is_file() and path.resolve().parent == folder)
    return {path.name: file_digest(path) for path in own}
