"""Rewrite the int8 weights of a graph of an earlier converter so that they saturate nowhere.

The graph that is shipped was exported by converter 1, whose weights use eight bits to the full. Its
weights in single precision were not kept, so the codes times their scales are quantized again:

    python -m models.reranker.requantize python/crx/shipped/crx
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from crx.models.card import GRAPH_FILE, file_digest, read_card, write_card
from crx.models.convert.convert import CONVERTER
from crx.models.convert.layers import quantize_weight


def requantize(folder: Path) -> None:
    """Rewrite the graph and the card of a model's folder."""
    path = folder / GRAPH_FILE
    model = onnx.load(path)
    constants = {each.name: each for each in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "MatMulIntegerToFloat":
            codes, scale = constants[node.input[1]], constants[node.input[3]]
            weight = numpy_helper.to_array(codes) * numpy_helper.to_array(scale)
            for old, new in zip((codes, scale), quantize_weight(weight), strict=True):
                old.CopyFrom(numpy_helper.from_array(np.asarray(new, order="C"), old.name))
    path.write_bytes(model.SerializeToString())
    card = read_card(folder)
    files = {**card.files, GRAPH_FILE: file_digest(path)}
    write_card(folder, replace(card, files=files, converter=CONVERTER))


if __name__ == "__main__":
    requantize(Path(sys.argv[1]))
