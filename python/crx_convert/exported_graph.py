"""ONNX graphs that other programs exported, with all their tensors."""

from __future__ import annotations

from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

from crx._models.onnx_folder import external_files
from crx._models.source_folder import SourceFolder
from crx.errors import ModelError

# The output that sentence-transformers' and optimum's exports of embedders with pooling have.
_VECTOR_OUTPUT = "sentence_embedding"
# The domains of the operators that are in ONNX Runtime.
_DOMAINS = frozenset(
    {"", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "com.microsoft", "com.microsoft.nchwc"}
)


def vector_output(model: onnx.ModelProto) -> onnx.ValueInfoProto:
    """Return the output of a graph that is named as one vector per text, else the first."""
    found: onnx.ValueInfoProto = model.graph.output[0]
    for output in model.graph.output:
        if output.name == _VECTOR_OUTPUT:
            found = output
    return found


def load_graph(folder: SourceFolder, source: Path) -> onnx.ModelProto:
    """Return a graph with all its tensors.

    Raises `ModelError` for tensors in a file that is not beside the graph, and for operators that
    ONNX Runtime does not have.
    """
    beside = source.parent.relative_to(folder.path)
    for name in sorted(external_files(source)):
        if Path(name).name != name or not folder.path_of((beside / name).as_posix()).is_file():
            raise ModelError(
                f"{source}: reads tensors from {name!r}, which is no file beside it; "
                "download the complete model from a source that you trust"
            )
    try:
        model = onnx.load(source, load_external_data=False)
        for tensor in model.graph.initializer:
            if uses_external_data(tensor):
                _read_external_data(tensor, source.parent)
    except (DecodeError, OSError, ValueError) as error:
        raise ModelError(f"{source}: not an ONNX graph ({error}); download it again") from error
    _require_known_operators(source, model)
    return model


def _read_external_data(tensor: onnx.TensorProto, folder: Path) -> None:
    """Move the data of a tensor into it; `ValueError` if the file is too short.

    onnx's own function refuses links, of which a folder of the hub's cache consists.
    """
    data = ExternalDataInfo(tensor)
    with (folder / data.location).open("rb") as file:
        file.seek(data.offset or 0)
        tensor.raw_data = file.read(-1 if data.length is None else data.length)
    if data.length is not None and len(tensor.raw_data) < data.length:
        raise ValueError(f"{data.location} ends within the tensor {tensor.name}")
    tensor.data_location = onnx.TensorProto.DEFAULT
    del tensor.external_data[:]


def _require_known_operators(source: Path, model: onnx.ModelProto) -> None:
    defined = {(each.domain, each.name) for each in model.functions}
    for node in model.graph.node:
        if node.domain not in _DOMAINS and (node.domain, node.op_type) not in defined:
            raise ModelError(
                f"{source}: needs the operator {node.op_type} of {node.domain}, which ONNX Runtime "
                "does not have; export the model without it"
            )
