"""Model folders saved by sentence-transformers or transformers: reading their configuration.

Everything is read from the folder's JSON files. Nothing is unpickled, no code in the folder is run,
and paths that lead out of the folder are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

from crx._models.card import ModelKind, Pooling, require_small
from crx.errors import ModelError

Activation = Literal["gelu", "gelu_tanh", "relu", "silu"]
_Json = Mapping[str, Any]

_MAX_JSON_BYTES = 1 << 26
_FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "modernbert")
_ACTIVATIONS: Mapping[str, Activation] = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
}
_POOLINGS: Mapping[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
}


@dataclass(frozen=True, slots=True)
class RotaryAttention:
    """Rotary positions in layers that attend to all tokens, or to those nearby.

    `is_local` tells of each layer whether a token attends to the `window` tokens on each side of
    it alone. `bases` are the bases of the rotation in a global and in a local layer.
    """

    is_local: tuple[bool, ...]
    window: int
    bases: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Architecture:
    """The architecture of a BERT-family encoder.

    `positions` and `segments` are the sizes of the position and segment embedding tables.
    `first_position` is the row of the position table for the first token: 0 for BERT and
    DistilBERT, 1 + the padding id for the RoBERTa family. ModernBERT has `rotary` positions and no
    such tables; it normalizes what goes into a part of a layer, the others what comes out of it.
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
    rotary: RotaryAttention | None = None


# ONNX graphs by the names that exporters give them, in the order of preference.
GRAPHS = ("onnx/model.onnx", "model.onnx", "onnx/model_quantized.onnx", "model_quantized.onnx")
# A limit above this is a tokenizer's "unlimited", such as 10**30.
_MAX_SEQUENCE = 1 << 20
# Of models that read more, as time and memory grow with the square of the length in every third
# layer.
_MAX_ROTARY_SEQUENCE = 8192
_MAX_LAYERS = 1000
# Tokens that model2vec reads of a text if the folder does not name a number.
_STATIC_SEQUENCE = 512


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

    `head` names those of the dense layer, the norm and the classifier of a reranker whose head is
    in modules; it is empty for a head among the encoder's weights. `table` is the folder of the
    token vectors of a static embedder, None for an encoder. `skipped` are the words of a text that
    a reranker by late interaction, whose pooling is "tokens", does not compare.
    `graph` is the path of its ONNX graph, None if the model is read from its weights. `pooling` is
    "graph" if the folder names none, so that the graph must pool.
    """

    path: Path
    title: str
    graph: Path | None
    kind: ModelKind
    pooling: Pooling
    dense: tuple[str, ...]
    head: tuple[str, ...]
    table: str | None
    skipped: tuple[str, ...]
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
    modules = _read_modules(path)
    table = _table_module(modules)
    is_required = graph is None and table is None
    config = _read_json(path, "config.json", default=None if is_required else {})
    encoder_config = _read_json(path, "sentence_bert_config.json", default={})
    head = _head_modules(modules)
    pooling: Pooling = _pooling(path, modules[1].path) if head else "none"
    dense: tuple[str, ...] = ()
    if table is not None:
        kind: ModelKind = "embedder"
        sequence = overrides.sequence or _static_sequence(path, config)
    else:
        kind = overrides.kind or ("reranker" if head else _kind(path, config))
        sequence = _sequence(path, config, encoder_config, overrides.sequence)
    saved = _read_json(path, "config_sentence_transformers.json", default={})
    skipped: tuple[str, ...] = ()
    if _is_late_interaction(modules):
        kind, pooling, dense = "reranker", "tokens", tuple(each.path for each in modules[1:])
        skipped = tuple(map(str, saved.get("skiplist_words") or ()))
        if overrides.sequence is None and "document_length" in saved:
            sequence = min(sequence, _integer(path, saved, "document_length"))
    elif kind == "embedder" and table is None:
        pooling, dense = _pooling_and_dense(path, modules, graph, overrides)
    query, passage = _prefixes(saved)
    licence, languages = read_front_matter(path)
    return SourceFolder(
        path=path,
        title=overrides.title or path.resolve().name,
        graph=graph,
        kind=kind,
        pooling=pooling,
        dense=dense,
        head=head,
        table=table,
        skipped=skipped,
        sequence=sequence,
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


def read_config(folder: SourceFolder, module: str = "") -> _Json:
    """Return the configuration of the encoder, or that of a module in a folder of its own."""
    return _read_json(folder.path, f"{module}/config.json".removeprefix("/"))


def _read_json(folder: Path, name: str, *, default: _Json | None = None) -> _Json:
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


def _kind(path: Path, config: _Json) -> ModelKind:
    if not config:
        raise ModelError(
            f"{path}: no config.json, so it is not known what the model is; "
            "name it with --kind embedder or --kind reranker"
        )
    names = config.get("architectures") or []
    is_classifier = any(str(name).endswith("ForSequenceClassification") for name in names)
    return "reranker" if is_classifier else "embedder"


def _pooling_and_dense(
    path: Path, modules: Sequence[_Module], graph: Path | None, overrides: Overrides
) -> tuple[Pooling, tuple[str, ...]]:
    """Return the pooling and the folders of the projections.

    The pooling of a graph is "graph" if neither the overrides nor the folder name one.
    """
    if modules:
        kinds = " ".join(each.kind for each in modules)
        if not re.fullmatch("Transformer Pooling( Dense)*( Normalize)?", kinds):
            raise ModelError(
                f"{path / 'modules.json'}: modules {kinds.replace(' ', ', ')}; "
                "crx supports Transformer, Pooling, Dense and Normalize, in this order"
            )
        pooling = _pooling(path, modules[1].path)
        return overrides.pooling or pooling, tuple(
            each.path for each in modules if each.kind == "Dense"
        )
    if overrides.pooling is not None:
        return overrides.pooling, ()
    if graph is not None and path_inside(path, "1_Pooling/config.json").is_file():
        return _pooling(path, "1_Pooling"), ()
    if graph is None:
        raise unknown_pooling(path)
    return "graph", ()


class _Module(NamedTuple):
    """A module of sentence-transformers: the name of its class, and its folder."""

    kind: str
    path: str


def _read_modules(path: Path) -> list[_Module]:
    """Return the modules that modules.json lists, in order; none without it."""
    listed = path_inside(path, "modules.json")
    if not listed.is_file():
        return []
    try:
        require_small(listed, _MAX_JSON_BYTES)
        modules = [
            _Module(str(module["type"]).rpartition(".")[2], str(module["path"]))
            for module in json.loads(listed.read_bytes())
        ]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"{listed}: not a list of modules ({error})") from error
    if modules and modules[0].path and modules[0].kind == "Transformer":
        raise ModelError(f"{listed}: the transformer is in {modules[0].path!r}, not at the root")
    return modules


def _is_late_interaction(modules: Sequence[_Module]) -> bool:
    """Return whether the modules are those of PyLate: an encoder and projections of its tokens."""
    return re.fullmatch("Transformer( Dense)+", " ".join(each.kind for each in modules)) is not None


def _table_module(modules: Sequence[_Module]) -> str | None:
    """Return the folder of a static embedder's token vectors, "" for the root; None for others."""
    if not modules or modules[0].kind != "StaticEmbedding":
        return None
    return modules[0].path.removeprefix(".")


def _static_sequence(path: Path, config: _Json) -> int:
    """Return how many tokens a static embedder reads of a text."""
    return _integer(path, {"max_length": _STATIC_SEQUENCE, **config}, "max_length")


def _head_modules(modules: Sequence[_Module]) -> tuple[str, ...]:
    """Return the folders of a reranker's dense layer, norm and classifier; () for another model."""
    kinds = [each.kind for each in modules]
    if kinds != ["Transformer", "Pooling", "Dense", "LayerNorm", "Dense"]:
        return ()
    return tuple(each.path for each in modules[2:])


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


def _prefixes(config: _Json) -> tuple[str, str]:
    """Return the prefixes of queries and of passages; "" if the folder names none."""
    prompts = config.get("prompts") or {}
    default = prompts.get(config.get("default_prompt_name") or "", "")
    query = prompts.get("query", default)
    passages = (prompts[name] for name in ("passage", "document", "corpus") if name in prompts)
    passage = next(passages, default)
    # The names of PyLate.
    query, passage = config.get("query_prefix", query), config.get("document_prefix", passage)
    return str(query or ""), str(passage or "")


def _sequence(path: Path, config: _Json, encoder_config: _Json, given: int | None) -> int:
    """Return the longest input in tokens: the given one, or the one that the files name."""
    tokenizer = _read_json(path, "tokenizer_config.json", default={})
    limits = []
    if config and (given is None or "max_position_embeddings" in config):
        positions = _integer(path, config, "max_position_embeddings")
        limits.append(positions - first_position(config))
        if config.get("model_type") == "modernbert":
            limits = [min(limits[0], _MAX_ROTARY_SEQUENCE)]
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


def _architecture(path: Path, config: _Json) -> Architecture:
    family = str(config.get("model_type"))
    if family not in _FAMILIES:
        raise ModelError(f"{path}: model type {family}; crx supports {', '.join(_FAMILIES)}")
    if config.get("auto_map"):
        raise ModelError(
            f"{path}/config.json: the model needs code of its own (auto_map), which is not run; "
            "take a model without it, or an ONNX graph of this one"
        )
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise ModelError(f"{path}: relative position embeddings; crx supports absolute ones")
    names = ("hidden_act", "hidden_activation", "activation")
    activation = parse_activation(
        path, next((config[name] for name in names if name in config), "")
    )
    layers, heads, hidden, intermediate = (
        ("n_layers", "n_heads", "dim", "hidden_dim")
        if family == "distilbert"
        else ("num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size")
    )
    is_modern = family == "modernbert"
    shape = Architecture(
        family=family,
        layers=_integer(path, config, layers, most=_MAX_LAYERS),
        heads=_integer(path, config, heads),
        hidden=_integer(path, config, hidden),
        intermediate=_integer(path, config, intermediate),
        vocabulary=_integer(path, config, "vocab_size"),
        positions=_integer(path, config, "max_position_embeddings"),
        first_position=first_position(config),
        segments=(
            0
            if family in ("distilbert", "modernbert")
            else _integer(path, config, "type_vocab_size")
        ),
        activation=activation,
        epsilon=(
            _number(path, config, "norm_eps", 1e-5)
            if is_modern
            else float(config.get("layer_norm_eps", 1e-12))
        ),
        rotary=_rotary_attention(path, config) if is_modern else None,
    )
    if shape.hidden % shape.heads:
        raise ModelError(f"{path}: {shape.hidden} dimensions do not divide by {shape.heads} heads")
    if is_modern and shape.hidden // shape.heads % 2:
        raise ModelError(f"{path}: rotary positions need heads of an even size")
    return shape


def parse_activation(path: Path, name: object) -> Activation:
    """Return an activation by the name that a configuration has; `ModelError` if it is unknown."""
    if (activation := _ACTIVATIONS.get(str(name))) is None:
        raise ModelError(f"{path}: activation {name}; crx supports {', '.join(_ACTIVATIONS)}")
    return activation


def _rotary_attention(path: Path, config: _Json) -> RotaryAttention:
    """Return the attention of ModernBERT, whose configuration has two forms.

    The older names the distance of global layers and two bases, the newer the type of each layer.
    """
    layers = _integer(path, config, "num_hidden_layers", most=_MAX_LAYERS)
    every = _integer(
        path, {"global_attn_every_n_layers": 3, **config}, "global_attn_every_n_layers"
    )
    types = config.get("layer_types") or [
        "sliding_attention" if at % every else "full_attention" for at in range(layers)
    ]
    if len(types) != layers or not {*types} <= {"sliding_attention", "full_attention"}:
        raise ModelError(
            f"{path}/config.json: layer_types does not name the type of {layers} layers"
        )
    bases = []
    for kind, name, default in (("full", "global", 160_000.0), ("sliding", "local", 10_000.0)):
        rotation = (config.get("rope_parameters") or {}).get(f"{kind}_attention") or {}
        if rotation.get("rope_type", "default") != "default" or config.get("rope_scaling"):
            raise ModelError(
                f"{path}/config.json: scaled rotary positions; crx supports plain ones"
            )
        named = _number(path, config, f"{name}_rope_theta", default)
        bases.append(_number(path, rotation, "rope_theta", named))
    width = _integer(path, {"local_attention": 128, **config}, "local_attention")
    return RotaryAttention(
        is_local=tuple(each == "sliding_attention" for each in types),
        window=max(1, width // 2),
        bases=(bases[0], bases[1]),
    )


def first_position(config: _Json) -> int:
    """Return the row of the position table for the first token."""
    if str(config.get("model_type")) in ("bert", "distilbert", "modernbert"):
        return 0
    return int(config.get("pad_token_id", 1)) + 1


def _integer(path: Path, config: _Json, name: str, *, most: int = 1 << 24) -> int:
    value = config.get(name)
    if not isinstance(value, int) or not 0 < value <= most:
        raise ModelError(
            f"{path}/config.json: {name} is {value!r}, not an integer from 1 to {most}"
        )
    return value


def _number(path: Path, config: _Json, name: str, default: float) -> float:
    value = config.get(name)
    value = default if value is None else value
    if not isinstance(value, (int, float)) or not 0 < value < 1e12:
        raise ModelError(f"{path}/config.json: {name} is {value!r}, not a positive number")
    return float(value)


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
