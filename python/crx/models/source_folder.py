"""A model's folder as sentence-transformers and transformers write it, read without running it.

Every answer comes from the folder's own JSON files. Nothing is unpickled, no code of the folder
runs, and no path leads out of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from crx.errors import ModelError
from crx.models.card import Kind, Pooling

Activation = Literal["gelu", "gelu_tanh", "relu"]
Json = Mapping[str, Any]

_JSON_BYTES = 1 << 26
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
    """The shape of a BERT-family encoder.

    `first_position` is the row of the position table that the first token takes: 0 for BERT,
    1 + the padding id for RoBERTa and its kin.
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


@dataclass(frozen=True, slots=True)
class Folder:
    """What a model's folder says of itself. `dense` names its projections, in order."""

    path: Path
    kind: Kind
    pooling: Pooling
    dense: tuple[str, ...]
    sequence: int
    lower_case: bool
    query_prefix: str
    passage_prefix: str
    licence: str
    languages: tuple[str, ...]

    def file(self, name: str) -> Path:
        """Return the path of a file of the folder; `ModelError` where it leads out of it."""
        return inside(self.path, name)

    def architecture(self) -> Architecture:
        """Return the shape of the folder's encoder; `ModelError` for a family not known here."""
        return _architecture(self.path, _json(self.path, "config.json"))


def read_folder(path: Path) -> Folder:
    """Read the JSON files of a folder; `ModelError` where one is missing or not understood."""
    if not path.is_dir():
        raise ModelError(f"{path}: no such folder; name the folder that holds config.json")
    config = _json(path, "config.json")
    reads = _json(path, "sentence_bert_config.json", default={})
    kind: Kind = "reranker" if _classifies(config) else "embedder"
    pooling, dense = ("none", ()) if kind == "reranker" else _modules(path)
    query, passage = _prefixes(_json(path, "config_sentence_transformers.json", default={}))
    about = _front_matter(path)
    return Folder(
        path=path,
        kind=kind,
        pooling=pooling,
        dense=dense,
        sequence=_sequence(path, config, reads),
        lower_case=bool(reads.get("do_lower_case", False)),
        query_prefix=query,
        passage_prefix=passage,
        licence=_licence(about),
        languages=_languages(about),
    )


def inside(folder: Path, name: str) -> Path:
    """Return the path of a folder's file; `ModelError` where the name or a link leads out of it.

    The one way out that is allowed is the Hugging Face cache's own: its snapshots are links to
    the `blobs` folder beside them.
    """
    relative = PurePosixPath(name)
    path = folder / relative
    root = folder.resolve()
    target = path.resolve()
    allowed = (root, root.parent.parent / "blobs")
    if relative.is_absolute() or ".." in relative.parts or "\\" in name:
        raise ModelError(f"{folder}: names {name!r}, outside of it; take the model from elsewhere")
    if not any(target.is_relative_to(place) for place in allowed):
        raise ModelError(f"{path}: a link out of the folder; copy the file to its place")
    return path


def read_dense(folder: Folder, name: str) -> Json:
    """Return the configuration of a projection of the folder."""
    return _json(folder.path, f"{name}/config.json")


def _json(folder: Path, name: str, *, default: Json | None = None) -> Json:
    path = inside(folder, name)
    try:
        if path.stat().st_size > _JSON_BYTES:
            raise ModelError(f"{path}: larger than {_JSON_BYTES >> 20} MiB; not a configuration")
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        if default is not None:
            return default
        raise ModelError(
            f"{path}: no such file; take the whole folder of a sentence-transformers model"
        ) from None
    except ValueError as error:
        raise ModelError(f"{path}: not JSON ({error}); take the file anew") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path}: not a JSON object; take the file anew")
    return value


def _classifies(config: Json) -> bool:
    names = config.get("architectures") or []
    return any(str(name).endswith("ForSequenceClassification") for name in names)


def _modules(path: Path) -> tuple[Pooling, tuple[str, ...]]:
    """Return the pooling and the folders of the projections, as modules.json orders them."""
    listed = inside(path, "modules.json")
    try:
        modules = [
            (str(module["type"]).rpartition(".")[2], str(module["path"]))
            for module in json.loads(listed.read_bytes())
        ]
    except FileNotFoundError:
        raise ModelError(
            f"{listed}: no such file, so the pooling is not known; "
            "take the folder that sentence-transformers saved"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{listed}: not a list of modules ({error})") from error
    kinds = [kind for kind, _ in modules]
    if not re.fullmatch("Transformer Pooling( Dense)*( Normalize)?", " ".join(kinds)):
        raise ModelError(
            f"{listed}: modules {', '.join(kinds)}; "
            "crx reads Transformer, Pooling, Dense and Normalize, in this order"
        )
    if modules[0][1]:
        raise ModelError(f"{listed}: the transformer lies in {modules[0][1]!r}, not in the folder")
    dense = tuple(place for kind, place in modules if kind == "Dense")
    return _pooling(path, modules[1][1]), dense


def _pooling(path: Path, module: str) -> Pooling:
    config = _json(path, f"{module}/config.json")
    if not config.get("include_prompt", True):
        raise ModelError(f"{path}: pools without its prompt; crx has no such pooling")
    modes = [name for name, on in config.items() if name.startswith("pooling_mode_") and on is True]
    if isinstance(named := config.get("pooling_mode"), str):
        modes = [
            mode
            for mode, pooling in _POOLINGS.items()
            if named in (pooling, pooling.replace("last", "lasttoken"))
        ]
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        raise ModelError(
            f"{path}: pooling {modes or named}; crx has mean, cls, max and last, one at a time"
        )
    return _POOLINGS[modes[0]]


def _prefixes(config: Json) -> tuple[str, str]:
    """Return the query's and the passage's prefix; "" where the folder names none."""
    prompts = config.get("prompts") or {}
    default = prompts.get(config.get("default_prompt_name") or "", "")
    query = prompts.get("query", default)
    passages = (prompts[name] for name in ("passage", "document", "corpus") if name in prompts)
    return str(query or ""), str(next(passages, default) or "")


def _sequence(path: Path, config: Json, reads: Json) -> int:
    tokenizer = _json(path, "tokenizer_config.json", default={})
    positions = _integer(path, config, "max_position_embeddings")
    limits = [positions - first_position(config)]
    for limit in (reads.get("max_seq_length"), tokenizer.get("model_max_length")):
        if isinstance(limit, (int, float)) and limit > 0:
            limits.append(int(limit))
            break
    return min(limits)


def _architecture(path: Path, config: Json) -> Architecture:
    family = str(config.get("model_type"))
    if family not in _FAMILIES:
        raise ModelError(f"{path}: model type {family}; crx converts {', '.join(_FAMILIES)}")
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise ModelError(f"{path}: relative positions; crx converts absolute ones")
    activation = str(config.get("hidden_act", config.get("activation")))
    if activation not in _ACTIVATIONS:
        raise ModelError(f"{path}: activation {activation}; crx has {', '.join(_ACTIVATIONS)}")
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
        raise ModelError(f"{path}: {shape.heads} heads do not divide {shape.hidden} dimensions")
    return shape


def first_position(config: Json) -> int:
    """Return the row of the position table that the first token takes."""
    if str(config.get("model_type")) in ("bert", "distilbert"):
        return 0
    return int(config.get("pad_token_id", 1)) + 1


def _integer(path: Path, config: Json, name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or not 0 < value < 1 << 24:
        raise ModelError(f"{path}/config.json: {name} is {value!r}, not a size")
    return value


def _front_matter(path: Path) -> str:
    """Return the front matter of the folder's README, or ""."""
    readme = inside(path, "README.md")
    try:
        with readme.open(encoding="utf-8", errors="replace") as file:
            head = file.read(1 << 16)
    except FileNotFoundError:
        return ""
    front = re.match(r"---\n(.*?)\n---\n", head, re.DOTALL)
    return front.group(1) if front else ""


def _licence(about: str) -> str:
    """Return the licence that the front matter names, or ""."""
    named = re.search(r"^license:\s*(\S+)", about, re.MULTILINE)
    return named.group(1).strip("\"'") if named else ""


def _languages(about: str) -> tuple[str, ...]:
    """Return the ISO 639-1 codes that the front matter lists; "multilingual" claims none."""
    listed = re.search(r"^language:(.*(?:\n\s*-.*)*)", about, re.MULTILINE)
    return tuple(re.findall(r"\b[a-z]{2}\b", listed.group(1))) if listed else ()
