"""Distil a reranker: weights of the shipped one, query lists, labels, training, mean of weights.

    pip install torch transformers
    crx models pull ms-marco-l12
    python models/reranker/make.py --start FOLDER --work DIR       # mines DIR/pairs.jsonl
    python models/reranker/distil/make.py --work DIR --documents FILE --minutes 90

FILE contains documents with their contexts, as the recipe of the contextualizer reads them. DIR
receives the lists, the labels and, in `students`, a folder of weights for each depth, which `crx
models add` converts. Those of six layers are the mean of two checkpoints and of the weights that
training began with; to ship them, give their folder to `export` in `models/reranker/export.py`.
Lists that exist are not made again, and labelling goes on where it stopped; training begins anew.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from average import average
from dequantize import dequantize
from label import write_labels
from queries import write_queries
from student import Student
from train import Recipe, train

from crx._models.store import find_model

# Layers of the shipped reranker.
LAYERS = 6


def main() -> None:
    parser = argparse.ArgumentParser(description="distil a reranker")
    parser.add_argument("--work", type=Path, required=True, help="folder with pairs.jsonl")
    parser.add_argument("--documents", type=Path, required=True, help="documents with contexts")
    parser.add_argument("--minutes", type=float, required=True, help="time of training")
    parser.add_argument("--depths", type=int, nargs="+", default=[6], help="layers of students")
    parser.add_argument("--lists", type=int, default=7000, help="lists to label")
    given = parser.parse_args()
    start = given.work / "start"
    lists, labels = given.work / "lists.jsonl", given.work / "labels.jsonl"
    held, held_labels = given.work / "held.jsonl", given.work / "held-labels.jsonl"
    own, strong = find_model("crx"), find_model("ms-marco-l12@int8")
    if not start.exists():
        dequantize(own, start)
    if not lists.exists():
        write_queries(given.work / "pairs.jsonl", given.documents, train=lists, held_out=held)
    write_labels(held, held_labels, own=own, strong=strong, limit=given.lists)
    write_labels(lists, labels, own=own, strong=strong, limit=given.lists)
    shutil.rmtree(given.work / "students", ignore_errors=True)
    train(
        Student(start, given.depths),
        given.work / "students",
        lists=(lists, labels),
        held_out=(held, held_labels),
        minutes=given.minutes,
        recipe=Recipe(),
    )
    whole = max(given.depths)
    if whole == LAYERS:
        *_, last = checkpoints = sorted((given.work / "students").glob(f"*/{whole}-layers"))
        shares = {last: 0.4, checkpoints[(len(checkpoints) - 1) // 2]: 0.4, start: 0.2}
        average(shares, given.work / "students" / f"{whole}-layers")


if __name__ == "__main__":
    main()
