"""A source folder becomes the files of the store: one graph, one tokenizer, one card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
import tokenizers
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from crx.errors import ModelError
from crx.models.card import GRAPH, TOKENIZER, ModelCard, Pooling, Precision, file_digest
from crx.models.convert import reference
from crx.models.convert.graph import (
    LOGITS,
    OPSET,
    VECTORS,
    append_pooling,
    tells_segments,
    write_graph,
)
from crx.models.convert.weights import EncoderWeights, read_weights
from crx.models.cross_encoder import PairEncoder, one_logit
from crx.models.onnx_folder import find_graph, precision_of
from crx.models.source_folder import Architecture, Folder, read_folder
from crx.models.tokenizer import Ids, Tokens, feed

CONVERTER = 1

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
    tokenizer = _tokenizer(folder)
    (target / TOKENIZER).write_text(tokenizer, encoding="utf-8")
    tokens = Tokens(tokenizer, sequence=folder.sequence)
    if folder.kind == "reranker":
        PairEncoder(tokenizer, sequence=folder.sequence)
    weighted = any(source.glob("*.safetensors")) or not find_graph(folder)
    write = _from_weights if weighted else _from_graph
    pooling, dimensions, opset = write(folder, tokens, target / GRAPH, precision)
    query = folder.query_prefix if query_prefix is None else query_prefix
    passage = folder.passage_prefix if passage_prefix is None else passage_prefix
    return ModelCard(
        name=name,
        kind=folder.kind,
        dimensions=dimensions,
        sequence=folder.sequence,
        max_tokens=tokens.room(passage),
        pooling=pooling,
        query_prefix=query,
        passage_prefix=passage,
        precision=precision,
        licence=folder.licence,
        source=source.resolve().name,
        converter=CONVERTER,
        opset=opset,
        files={part: file_digest(target / part) for part in (GRAPH, TOKENIZER)},
        languages=folder.languages,
    )


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


def _from_weights(
    folder: Folder, tokens: Tokens, path: Path, precision: Precision
) -> tuple[Pooling, int, int]:
    shape = folder.architecture()
    weights = read_weights(folder, shape)
    if tokens.vocabulary > shape.vocabulary:
        raise ModelError(
            f"{folder.path}: the tokenizer has {tokens.vocabulary} tokens, "
            f"the weights {shape.vocabulary}; take both from one model"
        )
    model = write_graph(weights, shape, pooling=folder.pooling, precision=precision)
    path.write_bytes(model.SerializeToString())
    if folder.kind == "embedder":
        _check_vectors(path, tokens.encode(_PROBES), weights, shape, folder.pooling, precision)
        size = weights.dense[-1].linear.bias.size if weights.dense else shape.hidden
        return folder.pooling, size, OPSET
    _check_logits(path, tokens.encode(_PROBES), weights, shape, precision)
    return folder.pooling, 1, OPSET


def _check_vectors(
    path: Path,
    probes: Sequence[Ids],
    weights: EncoderWeights,
    shape: Architecture,
    pooling: Pooling,
    precision: Precision,
) -> None:
    session = _session(path)
    for ids in probes:
        vector = session.run([VECTORS], {"input_ids": ids[None]})[0][0]
        cosine = float(vector @ reference.embed(ids, weights, shape, pooling))
        # Written so that a NaN fails too.
        if not cosine >= _COSINE[precision]:
            raise ModelError(
                f"{path.name}: cosine {cosine:.6f} to the reference on {len(ids)} tokens, "
                f"under {_COSINE[precision]}; the model cannot be converted to {precision}"
            )


def _check_logits(
    path: Path,
    probes: Sequence[Ids],
    weights: EncoderWeights,
    shape: Architecture,
    precision: Precision,
) -> None:
    session = _session(path)
    for ids in probes:
        segments = (np.arange(len(ids)) > len(ids) // 2).astype(np.int64)
        segments = segments % len(weights.segments)
        inputs = {"input_ids": ids[None]}
        if tells_segments(weights):
            inputs["token_type_ids"] = segments[None]
        found = float(session.run([LOGITS], inputs)[0][0])
        wanted = reference.score(ids, segments, weights, shape)
        if not abs(found - wanted) <= _LOGIT[precision]:
            raise ModelError(
                f"{path.name}: logit {found:.4f} where the reference has {wanted:.4f}; "
                f"the model cannot be converted to {precision}"
            )


def _from_graph(
    folder: Folder, tokens: Tokens, path: Path, precision: Precision
) -> tuple[Pooling, int, int]:
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
        return folder.pooling, 1, opset
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
    return pooling, dimensions, opset


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
