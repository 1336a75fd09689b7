"""Static embedders: a table of token vectors, whose mean over a text is the text's vector.

The folder is that of model2vec (Tulkens and van Dongen 2024) or of sentence-transformers'
`StaticEmbedding`. The weights of tokens, and the rows that several tokens share, are put into the
table. The unknown token has a row of zeros, as model2vec leaves it out, and the mean of no token
is a vector of zeros.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from crx._models.tokenizer import Ids
from crx.errors import ModelError
from crx_convert.graph import OPSET, VECTORS, make_model, write_sum, write_unit_vectors
from crx_convert.graph_writer import GraphWriter
from crx_convert.weights import Array, load_tensors


def read_table(path: Path, module: str, tokenizer: str, *, tokens: int) -> Array:
    """Return the (tokens, d) float32 vectors of a module's tokens, each with its weight.

    `path` is the folder of the model, `tokenizer` is JSON. Raises `ModelError` if the table and the
    tokenizer have other numbers of tokens.
    """
    tensors = load_tensors(path, module)
    name = next((each for each in ("embeddings", "embedding.weight") if each in tensors), None)
    if name is None or tensors[name].ndim != 2:
        raise ModelError(f"{path}: no table of token vectors; download the complete model")
    table = tensors[name].astype(np.float32)
    rows = tensors.get("mapping")
    if rows is not None:
        table = table[_checked_rows(path, rows, len(table))]
    if len(table) < tokens:
        raise ModelError(
            f"the tokenizer has {tokens} tokens, the table {len(table)}; "
            "use the tokenizer and the weights of one model"
        )
    if (weights := tensors.get("weights")) is not None:
        if weights.shape != (len(table),):
            raise ModelError(
                f"{path}: weights of the shape {weights.shape} for {len(table)} tokens; "
                "download the model again"
            )
        table = table * weights.astype(np.float32)[:, None]
    if (unknown := _unknown_id(tokenizer)) is not None:
        table[unknown] = 0
    return table


def write_static_graph(table: Array) -> onnx.ModelProto:
    """Return the graph of a table: `input_ids` (n, length) to `vectors` (n, d)."""
    graph = GraphWriter(OPSET, name_prefix="crx")
    rows = graph.op("Gather", graph.constant(table.astype(np.float16)), "input_ids")
    total, _ = write_sum(graph, graph.op("Cast", rows, to=TensorProto.FLOAT))
    write_unit_vectors(graph, total, least_norm=float(np.finfo(np.float32).tiny))
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "length"])]
    output = helper.make_tensor_value_info(VECTORS, TensorProto.FLOAT, ["n", table.shape[1]])
    return make_model(graph, inputs, [output])


def embed_static(ids: Ids, table: Array) -> Array:
    """Return the (d,) vector of a text by the reference: a unit vector, or zeros."""
    total: Array = table[ids].sum(axis=0)
    return total / max(float(np.linalg.norm(total)), float(np.finfo(np.float32).tiny))


def _checked_rows(path: Path, rows: NDArray[np.generic], count: int) -> NDArray[np.int64]:
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
        raise ModelError(f"{path}: mapping is no list of rows; download the model again")
    found = rows.astype(np.int64)
    if found.min() < 0 or found.max() >= count:
        raise ModelError(f"{path}: mapping names rows that the table lacks; download it again")
    return found


def _unknown_id(tokenizer: str) -> int | None:
    """Return the id of the token for what a tokenizer does not know, or None."""
    model = json.loads(tokenizer)["model"]
    vocabulary, name = model.get("vocab"), model.get("unk_token")
    found = model.get("unk_id")
    if isinstance(vocabulary, dict):
        found = vocabulary.get(name)
    return None if found is None else int(found)
