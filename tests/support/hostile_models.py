"""Models that somebody made to harm whoever loads them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data
from tiny_export import make_exported_embedder


def make_hostile(folder: Path, before: Sequence[onnx.NodeProto], **tensors: np.ndarray) -> Path:
    """Write an exported embedder whose vectors wait for what other nodes make of `tensors`."""
    path = make_exported_embedder(folder, precision="fp32") / "model.onnx"
    model = onnx.load(path)
    (last,) = (node for node in model.graph.node if "last_hidden_state" in node.output)
    last.output[0] = "states_before"
    added = helper.make_node("Add", ["states_before", "waited"], ["last_hidden_state"])
    model.graph.node.extend([*before, added])
    model.graph.initializer.extend(
        numpy_helper.from_array(value, name) for name, value in tensors.items()
    )
    onnx.save(model, path)
    return folder


def endless(folder: Path) -> Path:
    """Write an embedder whose graph has a loop without an end."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go_in"], ["go_out"]),
            helper.make_node("Add", ["sum_in", "one"], ["sum_out"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("nth", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_in", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum_in", TensorProto.FLOAT, []),
        ],
        [
            helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum_out", TensorProto.FLOAT, []),
        ],
    )
    loop = helper.make_node("Loop", ["", "go", "zero"], ["waited"], body=body)
    one = np.array(1, np.float32)
    return make_hostile(folder, [loop], go=np.ones((), bool), zero=one * 0, one=one)


def greedy(folder: Path) -> Path:
    """Write an embedder whose graph asks for 16 GB."""
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["many"]),
        helper.make_node("Mul", ["many", "many"], ["squares"]),
        helper.make_node("ReduceSum", ["squares"], ["waited"], keepdims=0),
    ]
    return make_hostile(folder, nodes, shape=np.array([4_000_000_000], np.int64))


def wait_for(*nodes: onnx.NodeProto, **tensors: np.ndarray) -> Callable[[Path], object]:
    """Return a function that writes an embedder whose vectors wait for some nodes."""
    return lambda folder: make_hostile(folder, nodes, **tensors)


def filled(*shape: int) -> Callable[[Path], object]:
    """Return a function that writes an embedder that fills a tensor of any shape."""
    return wait_for(
        helper.make_node("ConstantOfShape", ["shape"], ["many"]),
        helper.make_node("ReduceSum", ["many"], ["waited"], keepdims=0),
        shape=np.array(shape, np.int64),
    )


def multiplied(size: int, times: int) -> Callable[[Path], object]:
    """Return a function that writes an embedder that multiplies large matrices."""
    powers = [f"power{number}" for number in range(times + 1)]
    return wait_for(
        helper.make_node("ConstantOfShape", ["shape"], [powers[0]]),
        *(helper.make_node("MatMul", [one, powers[0]], [more]) for one, more in pairwise(powers)),
        helper.make_node("ReduceSum", [powers[-1]], ["waited"], keepdims=0),
        shape=np.array([size, size], np.int64),
    )


def chained(operator: str, length: int) -> Callable[[Path], object]:
    """Return a function that writes an embedder with a chain of nodes; `Concat` doubles in each."""
    names = ["one", *(f"link{number}" for number in range(length))]
    made = []
    for before, after in pairwise(names):
        if operator == "Concat":
            made.append(helper.make_node(operator, [before, before], [after], axis=0))
        else:
            made.append(helper.make_node(operator, [before], [after]))
    last = helper.make_node("ReduceSum", [names[-1]], ["waited"], keepdims=0)
    return wait_for(*made, last, one=np.ones(1, np.float32))


def reading(location: str) -> Callable[[Path], object]:
    """Return a function that writes an embedder that reads a tensor from a file."""

    def write(folder: Path) -> None:
        path = make_exported_embedder(folder, precision="fp32") / "model.onnx"
        model = onnx.load(path)
        tensor = model.graph.initializer[0]
        set_external_data(tensor, location=location, offset=0, length=1 << 40)
        tensor.ClearField("raw_data")
        onnx.save(model, path)

    return write


def with_file(name: str, text: str) -> Callable[[Path], object]:
    """Return a function that writes an embedder one of whose files says something else."""
    return lambda folder: (make_exported_embedder(folder, precision="fp32") / name).write_text(text)


def exchanged(name: str, exchange: Callable[[Path], object]) -> Callable[[Path], object]:
    """Return a function that writes an embedder with something else in the place of a file."""

    def write(folder: Path) -> None:
        path = make_exported_embedder(folder, precision="fp32") / name
        path.unlink()
        exchange(path)

    return write


def linked(target: str) -> Callable[[Path], object]:
    """Return a function that makes a path a link."""
    return lambda path: path.symlink_to(target)


def _deep(opening: str) -> str:
    return opening * 200_000


def _extend(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


CYCLE = (
    helper.make_node("Add", ["some", "looped"], ["looped"]),
    helper.make_node("Identity", ["looped"], ["waited"]),
)
WAYS: dict[str, Callable[[Path], object]] = {
    "endless": endless,
    "greedy": greedy,
    "cycle": wait_for(*CYCLE, some=np.zeros((), np.float32)),
    "no number": wait_for(
        helper.make_node("Div", ["zero", "zero"], ["waited"]), zero=np.zeros((), np.float32)
    ),
    **{
        f"filled {shape}": filled(*shape)
        for shape in ((10**8,), (10**12,), (2**62,), (-1,), (10**5, 10**5), (0,), (2**31, 2**33))
    },
    **{
        f"multiplied {size} {times}": multiplied(size, times)
        for size, times in ((1500, 1), (4000, 2), (3000, 50), (11_000, 1))
    },
    **{f"doubled {length}": chained("Concat", length) for length in (20, 28, 34, 60)},
    **{f"chained {length}": chained("Identity", length) for length in (5000, 50_000)},
    **{
        f"reading {location!r}": reading(location)
        for location in ("../outside", "/etc/passwd", "/dev/zero", "a\0b", "", "model.onnx")
    },
    **{
        f"{name} {text[:20]!r}": with_file(name, text)
        for name, text in (
            ("config.json", "[]"),
            ("config.json", _deep("[")),
            ("config.json", '{"max_position_embeddings": -1}'),
            ("config.json", '{"max_position_embeddings": 1e308}'),
            ("config.json", '{"hidden_size": "x"}'),
            ("tokenizer.json", "{}"),
            ("tokenizer.json", "null"),
            ("tokenizer.json", _deep("[")),
            ("tokenizer.json", _deep('{"a":')),
            ("modules.json", '[{"path": "../outside"}]'),
            ("modules.json", '{"a": 1}'),
            ("tokenizer_config.json", '{"model_max_length": 1e30}'),
            ("sentence_bert_config.json", '{"max_seq_length": 1000000000}'),
        )
    },
    **{
        f"{name} that is a pipe": exchanged(name, os.mkfifo)
        for name in ("model.onnx", "tokenizer.json")
    },
    **{
        f"{name} that links to {target}": exchanged(name, linked(target))
        for name in ("model.onnx", "tokenizer.json")
        for target in ("/dev/zero", "/etc/passwd", "model.onnx", "../..")
    },
    "a graph of a terabyte": exchanged("model.onnx", _extend),
    "a tokenizer of a terabyte": exchanged("tokenizer.json", _extend),
    "a graph that is a folder": exchanged("model.onnx", Path.mkdir),
}


def make_hostile_model(folder: Path, number: int, chance: random.Random) -> str:
    """Write the model of a number: first one of each of the `WAYS`, then with damaged bytes.

    Returns what is hostile about it.
    """
    if number < len(WAYS):
        way = list(WAYS)[number]
        WAYS[way](folder)
        return way
    make_exported_embedder(folder, precision=chance.choice(["fp32", "int8"]))
    path = folder / chance.choice(["model.onnx", "model.onnx", "tokenizer.json"])
    content = bytearray(path.read_bytes())
    if chance.random() < 0.2:
        del content[chance.randrange(len(content)) :]
    for _ in range(1 << chance.randrange(8)):
        if content:
            content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)
    return f"damaged {path.name}"
