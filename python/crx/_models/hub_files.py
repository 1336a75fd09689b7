"""Choice of the files of a model on a hub: those that crx reads, and no others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crx._models.source_folder import GRAPHS
from crx.errors import ModelError

_CONFIGURATION = re.compile(
    r"config\.json|modules\.json|sentence_bert_config\.json|config_sentence_transformers\.json"
    r"|(\d+_\w+/)?tokenizer\.json|tokenizer_config\.json|README\.md|\d+_\w+/config\.json"
    r"|\d+_(Dense|LayerNorm|StaticEmbedding)/model\.safetensors"
)
_WEIGHTS = "model.safetensors"
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".msgpack", ".h5")


def choose_files(repository: str, names: Sequence[str], *, file: str | None) -> list[str]:
    """Return the files to fetch: configuration, and the weights or the graph.

    Without `file`, weights in safetensors are preferred to an ONNX graph of a usual name. Raises
    `ModelError` if the hub has nothing that crx reads, or several graphs or GGUF files.
    """
    if file is not None:
        return _choose_named(repository, names, file)
    configuration = [name for name in names if _CONFIGURATION.fullmatch(name)]
    if _WEIGHTS in names:
        return [*configuration, _WEIGHTS]
    if any(name.endswith(f"_StaticEmbedding/{_WEIGHTS}") for name in configuration):
        return configuration
    if graph := next((name for name in GRAPHS if name in names), None):
        return [*configuration, graph, *_tensors_of(graph, names)]
    others = sorted(name for name in names if name.endswith((".gguf", ".onnx")))
    if others:
        raise ModelError(
            f"hf:{repository}: has {_shorten(others)}; name one, as in hf:{repository}:{others[0]}"
        )
    if pickles := sorted(name for name in names if name.endswith(_PICKLES)):
        raise ModelError(
            f"hf:{repository}: has its weights in {pickles[0]} alone, which can run code and is "
            "not read; take a model in safetensors, ONNX or GGUF"
        )
    raise ModelError(f"hf:{repository}: has no {_WEIGHTS}, ONNX graph or GGUF file")


def _choose_named(repository: str, names: Sequence[str], file: str) -> list[str]:
    if not file.endswith((".gguf", ".onnx")):
        raise ModelError(f"hf:{repository}:{file}: name a GGUF file or an ONNX graph")
    if file not in names:
        suffix = file[file.rindex(".") :]
        others = sorted(name for name in names if name.endswith(suffix))
        raise ModelError(
            f"hf:{repository}:{file}: no such file; there is {_shorten(others) or 'none'}"
        )
    if file.endswith(".gguf"):
        return [file]
    configuration = [name for name in names if _CONFIGURATION.fullmatch(name)]
    return [*configuration, file, *_tensors_of(file, names)]


def _tensors_of(graph: str, names: Sequence[str]) -> list[str]:
    """Return the files beside a graph that hold its tensors, by their usual names."""
    return [name for name in (f"{graph}_data", f"{graph}.data") if name in names]


def _shorten(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown
