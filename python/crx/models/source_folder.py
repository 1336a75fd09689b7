"""Model folders saved by sentence-transformers or transformers: reading their configuration.

Everything is read from the folder's JSON files. Nothing is unpickled, no code in the folder is run,
and paths that lead out of the folder are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from crx.errors import ModelError
from crx.models.card import ModelKind, Pooling, require_small

Activation = Literal["gelu", "gelu_tanh", "relu"]
Json = Mapping[str, Any]

_MAX_JSON_BYTES = 1 << 26
_FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert")
_ACTIVATIONS: Mapping[str, Activation] = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
_POOLINGS: Mapping[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
}


@dataclass(frozen=True, slots=True)
class Architecture:
    """The architecture of a BERT-family encoder.

    `positions` and `segments` are the sizes of the position and segment embedding tables.
    `first_position` is the row of the position table for the first token: 0 for BERT and
    DistilBERT, 1 + the padding id for the RoBERTa family.
    """

    family: str
    layers: int
    heads: int
    hidden: int
    intermediate: int
    vocabulary: int
    positions: int
    first_position: int
    segments: int
    activation: Activation
    epsilon: float


# ONNX graphs by the names that exporters give them, in the order of preference.
GRAPHS = ("onnx/model.onnx", "model.onnx", "onnx/model_quantized.onnx", "model_quantized.onnx")
# A limit above this is a tokenizer's "unlimited", such as 10**30.
_MAX_SEQUENCE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Properties of a model that replace those of its folder's files; None leaves those.

    `sequence` is the longest input in tokens, `graph` the path of the ONNX graph in the folder,
    `title` the published name of the model.
    """

    kind: ModelKind | None = None
    pooling: Pooling | None = None
    sequence: int | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None
    graph: str | None = None
    title: str | None = None
    licence: str | None = None
    languages: tuple[str, ...] | None = None


_NO_OVERRIDES = Overrides()


@dataclass(frozen=True, slots=True)
class SourceFolder:
    """The configuration of a model folder. `dense` names the folders of its projections.

    `graph` is the path of its ONNX graph, None if the model is read from its weights. `pooling` is
    "graph" if the folder names none, so that the graph must pool.
    """

    path: Path
    title: str
    graph: Path | None
    kind: ModelKind
    pooling: Pooling
    dense: tuple[str, ...]
    sequence: int
    lower_case: bool
    query_prefix: str
    passage_prefix: str
    licence: str
    languages: tuple[str, ...]

    def path_of(self, name: str) -> Path:
        """Return the path of a file in the folder; `ModelError` if it leads out of the folder."""
        return path_inside(self.path, name)

    def architecture(self) -> Architecture:
        """Return the encoder's architecture; `ModelError` for an unsupported model type."""
        return _architecture(self.path, _read_json(self.path, "config.json"))


def read_folder(path: Path, overrides: Overrides | None = None) -> SourceFolder:
    """Read the configuration of a folder; `ModelError` if a file is missing or invalid.

    A folder with an ONNX graph needs no configuration for what the overrides name.
    """
    overrides = overrides or _NO_OVERRIDES
    if path.is_file():
        raise ModelError(f"{path}: a file; name the folder that it is in, with --graph for a graph")
    if not path.is_dir():
        raise ModelError(f"{path}: no such folder; name the folder that holds config.json")
    graph = _find_graph(path, overrides.graph)
    config = _read_json(path, "config.json", default=None if graph is None else {})
    encoder_config = _read_json(path, "sentence_bert_config.json", default={})
    kind = overrides.kind or _kind(path, config)
    pooling, dense = (
        ("none", ()) if kind == "reranker" else _pooling_and_dense(path, graph, overrides)
    )
    query, passage = _prefixes(_read_json(path, "config_sentence_transformers.json", default={}))
    licence, languages = read_front_matter(path)
    return SourceFolder(
        path=path,
        title=overrides.title or path.resolve().name,
        graph=graph,
        kind=kind,
        pooling=pooling,
        dense=dense,
        sequence=_sequence(path, config, encoder_config, overrides.sequence),
        lower_case=bool(encoder_config.get("do_lower_case", False)),
        query_prefix=query if overrides.query_prefix is None else overrides.query_prefix,
        passage_prefix=passage if overrides.passage_prefix is None else overrides.passage_prefix,
        licence=licence if overrides.licence is None else overrides.licence,
        languages=languages if overrides.languages is None else overrides.languages,
    )


def find_graph(path: Path) -> Path | None:
    """Return the ONNX graph in a folder, or None."""
    paths = (path_inside(path, name) for name in GRAPHS)
    return next((graph for graph in paths if graph.is_file()), None)


def unknown_pooling(path: Path) -> ModelError:
    """Return the error for an embedder's folder that does not name the pooling."""
    return ModelError(
        f"{path / 'modules.json'}: no such file, so the pooling is unknown; "
        "use a folder saved by sentence-transformers, or name the pooling that the model's page "
        "gives with --pooling mean, cls, max or last"
    )


def read_front_matter(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the licence and the languages that the folder's README names; "" and () if none."""
    front_matter = _front_matter(path)
    return _licence(front_matter), _languages(front_matter)


def path_inside(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder; `ModelError` if the name or a link leads out of it.

    Links into the `blobs` folder of the Hugging Face cache are allowed: its snapshots consist of
    such links.
    """
    relative = PurePosixPath(name)
    path = folder / relative
    root = folder.resolve()
    target = path.resolve()
    allowed = (root, root.parent.parent / "blobs")
    if relative.is_absolute() or ".." in relative.parts or "\\" in name:
        raise ModelError(f"{folder}: refers to {name!r}, outside of it; download the model again")
    if not any(target.is_relative_to(parent) for parent in allowed):
        raise ModelError(f"{path}: a link out of the folder; replace it with a copy of the file")
    return path


def read_dense_config(folder: SourceFolder, name: str) -> Json:
    """Return the configuration of one of the folder's projections."""
    return _read_json(folder.path, f"{name}/config.json")


def _read_json(folder: Path, name: str, *, default: Json | None = None) -> Json:
    path = path_inside(folder, name)
    try:
        require_small(path, _MAX_JSON_BYTES)
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        if default is not None:
            return default
        raise ModelError(
            f"{path}: no such file; download the complete folder of the model"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: not JSON ({error}); download the file again") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path}: not a JSON object; download the file again")
    return value


def _find_graph(path: Path, name: str | None) -> Path | None:
    """Return the graph of this name, or the folder's own if it is to be used; None for weights.

    Weights are preferred, because they can be converted to any precision.
    """
    if name is not None:
        graph = path_inside(path, name)
        if not graph.is_file():
            raise ModelError(f"{graph}: no such file; name an ONNX graph in {path} with --graph")
        return graph
    if any(path.glob("*.safetensors")):
        return None
    if (found := find_graph(path)) is not None:
        return found
    others = sorted(
        each.relative_to(path).as_posix()
        for folder in (path, path / "onnx")
        for each in folder.glob("*.onnx")
    )
    if others:
        raise ModelError(
            f"{path}: has the ONNX graphs {', '.join(others)}; name one with --graph {others[0]}"
        )
    return None


def _kind(path: Path, config: Json) -> ModelKind:
    if not config:
        raise ModelError(
            f"{path}: no config.json, so it is not known what the model is; "
            "name it with --kind embedder or --kind reranker"
        )
    names = config.get("architectures") or []
    is_classifier = any(str(name).endswith("ForSequenceClassification") for name in names)
    return "reranker" if is_classifier else "embedder"


def _pooling_and_dense(
    path: Path, graph: Path | None, overrides: Overrides
) -> tuple[Pooling, tuple[str, ...]]:
    """Return the pooling and the folders of the projections.

    The pooling of a graph is "graph" if neither the overrides nor the folder name one.
    """
    if path_inside(path, "modules.json").is_file():
        pooling, dense = _read_modules(path)
        return overrides.pooling or pooling, dense
    if overrides.pooling is not None:
        return overrides.pooling, ()
    if graph is not None and path_inside(path, "1_Pooling/config.json").is_file():
        return _pooling(path, "1_Pooling"), ()
    if graph is None:
        raise unknown_pooling(path)
    return "graph", ()


def _read_modules(path: Path) -> tuple[Pooling, tuple[str, ...]]:
    """Return the pooling and the folders of the projections, in the order of modules.json."""
    listed = path_inside(path, "modules.json")
    try:
        require_small(listed, _MAX_JSON_BYTES)
        modules = [
            (str(module["type"]).rpartition(".")[2], str(module["path"]))
            for module in json.loads(listed.read_bytes())
        ]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"{listed}: not a list of modules ({error})") from error
    kinds = [kind for kind, _ in modules]
    if not re.fullmatch("Transformer Pooling( Dense)*( Normalize)?", " ".join(kinds)):
        raise ModelError(
            f"{listed}: modules {', '.join(kinds)}; "
            "crx supports Transformer, Pooling, Dense and Normalize, in this order"
        )
    if modules[0][1]:
        raise ModelError(f"{listed}: the transformer is in {modules[0][1]!r}, not at the root")
    dense = tuple(name for kind, name in modules if kind == "Dense")
    return _pooling(path, modules[1][1]), dense


def _pooling(path: Path, module: str) -> Pooling:
    config = _read_json(path, f"{module}/config.json")
    if not config.get("include_prompt", True):
        raise ModelError(f"{path}: excludes the prompt from pooling, which crx does not support")
    modes = [name for name, on in config.items() if name.startswith("pooling_mode_") and on is True]
    if isinstance(named := config.get("pooling_mode"), str):
        modes = [
            mode
            for mode, pooling in _POOLINGS.items()
            if named in (pooling, pooling.replace("last", "lasttoken"))
        ]
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        raise ModelError(
            f"{path}: pooling {modes or named}; crx supports one of mean, cls, max and last"
        )
    return _POOLINGS[modes[0]]


def _prefixes(config: Json) -> tuple[str, str]:
    """Return the prefixes of queries and of passages; "" if the folder names none."""
    prompts = config.get("prompts") or {}
    default = prompts.get(config.get("default_prompt_name") or "", "")
    query = prompts.get("query", default)
    passages = (prompts[name] for name in ("passage", "document", "corpus") if name in prompts)
    return str(query or ""), str(next(passages, default) or "")


def _sequence(path: Path, config: Json, encoder_config: Json, given: int | None) -> int:
    """Return the longest input in tokens: the given one, or the one that the files name."""
    tokenizer = _read_json(path, "tokenizer_config.json", default={})
    limits = []
    if config and (given is None or "max_position_embeddings" in config):
        positions = _integer(path, config, "max_position_embeddings")
        limits.append(positions - first_position(config))
    if given is not None:
        if limits and given > limits[0]:
            raise ModelError(f"{path}: reads at most {limits[0]} tokens, not {given}")
        return given
    for limit in (encoder_config.get("max_seq_length"), tokenizer.get("model_max_length")):
        if isinstance(limit, (int, float)) and 0 < limit <= _MAX_SEQUENCE:
            limits.append(int(limit))
            break
    if not limits:
        raise ModelError(
            f"{path}: no file says how many tokens the model reads; name it with --max-tokens"
        )
    return min(limits)


def _architecture(path: Path, config: Json) -> Architecture:
    family = str(config.get("model_type"))
    if family not in _FAMILIES:
        raise ModelError(f"{path}: model type {family}; crx supports {', '.join(_FAMILIES)}")
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise ModelError(f"{path}: relative position embeddings; crx supports absolute ones")
    activation = str(config.get("hidden_act", config.get("activation")))
    if activation not in _ACTIVATIONS:
        raise ModelError(f"{path}: activation {activation}; crx supports {', '.join(_ACTIVATIONS)}")
    layers, heads, hidden, intermediate = (
        ("n_layers", "n_heads", "dim", "hidden_dim")
        if family == "distilbert"
        else ("num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size")
    )
    shape = Architecture(
        family=family,
        layers=_integer(path, config, layers),
        heads=_integer(path, config, heads),
        hidden=_integer(path, config, hidden),
        intermediate=_integer(path, config, intermediate),
        vocabulary=_integer(path, config, "vocab_size"),
        positions=_integer(path, config, "max_position_embeddings"),
        first_position=first_position(config),
        segments=0 if family == "distilbert" else _integer(path, config, "type_vocab_size"),
        activation=_ACTIVATIONS[activation],
        epsilon=float(config.get("layer_norm_eps", 1e-12)),
    )
    if shape.hidden % shape.heads:
        raise ModelError(f"{path}: {shape.hidden} dimensions do not divide by {shape.heads} heads")
    return shape


def first_position(config: Json) -> int:
    """Return the row of the position table for the first token."""
    if str(config.get("model_type")) in ("bert", "distilbert"):
        return 0
    return int(config.get("pad_token_id", 1)) + 1


def _integer(path: Path, config: Json, name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or not 0 < value < 1 << 24:
        raise ModelError(f"{path}/config.json: {name} is {value!r}, not an integer from 1 to 2**24")
    return value


def _front_matter(path: Path) -> str:
    """Return the front matter of the folder's README, or "" if it has none."""
    readme = path_inside(path, "README.md")
    try:
        with readme.open(encoding="utf-8", errors="replace") as file:
            start = file.read(1 << 16)
    except FileNotFoundError:
        return ""
    front = re.match(r"---\n(.*?)\n---\n", start, re.DOTALL)
    return front.group(1) if front else ""


def _licence(front_matter: str) -> str:
    """Return the licence in the front matter, or "" if it names none."""
    licence = _value(front_matter, "license")
    return _value(front_matter, "license_name") or licence if licence == "other" else licence


def _value(front_matter: str, name: str) -> str:
    named = re.search(rf"^{name}:[ \t]*(\S+)", front_matter, re.MULTILINE)
    return named.group(1).strip("\"'") if named else ""


def _languages(front_matter: str) -> tuple[str, ...]:
    """Return the ISO 639-1 codes in the front matter; "multilingual" is not one."""
    listed = re.search(r"^language:(.*(?:\n\s*-.*)*)", front_matter, re.MULTILINE)
    return tuple(re.findall(r"\b[a-z]{2}\b", listed.group(1))) if listed else ()
