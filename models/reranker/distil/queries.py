"""Queries with six candidates each, for the teachers to score.

Two sources: the questions of `questions.jsonl` with the chunks that `pairs.py` mined for them, and
documents with contexts (`documents.py`). The lists that are held out are of other packages and
documents.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from documents import document_lists
from lists import Candidate, QueryList, write_lists

# Packages that are not used in training.
HELD_OUT = frozenset({"flask", "zarr", "shapely", "redis", "tokenizers", "py4j"})
PACKAGE_QUERIES = 5000
HELD_QUERIES = 60
# Candidates of each kind beside the answer: `pairs.py` explains them.
NEGATIVES = {"ranked": 3, "beside": 1, "asked": 1}
HELD_NEGATIVES = {"ranked": 6, "beside": 2, "asked": 0}
# A share of the texts has its path or nothing instead of its outline.
PREFIXES = ("outline",) * 7 + ("path", "bare", "bare")
SEED = 17


def write_queries(pairs: Path, documents: Path, *, train: Path, held_out: Path) -> None:
    """Write the lists to train on and those that are held out."""
    chance = random.Random(SEED)
    with pairs.open(encoding="utf-8") as lines:
        examples = [json.loads(line) for line in lines]
    examples = [each for each in examples if each["ranked"] and each["answers"]]
    chance.shuffle(examples)
    used = [each for each in examples if each["package"] not in HELD_OUT][:PACKAGE_QUERIES]
    held = [each for each in examples if each["package"] in HELD_OUT][:HELD_QUERIES]
    lists = [_package_list(each, NEGATIVES, chance) for each in used]
    kept = [_package_list(each, HELD_NEGATIVES, chance) for each in held]
    of_documents, kept_of_documents = document_lists(documents, chance)
    lists += of_documents
    chance.shuffle(lists)
    write_lists(train, lists)
    write_lists(held_out, kept + kept_of_documents)


def _package_list(
    example: dict[str, Any], negatives: dict[str, int], chance: random.Random
) -> QueryList:
    prefix = chance.choice(PREFIXES)

    def candidate(text: dict[str, str], *, gold: bool) -> Candidate:
        head = text["outline"].partition("\n")[0] if prefix == "outline" else ""
        if prefix == "path":
            head = f"{example['package']}/{text['path']}"
        return Candidate(head, text["text"], gold)

    answers = example["answers"]
    answer = answers[0] if chance.random() < 0.8 else chance.choice(answers)
    candidates = [candidate(answer, gold=True)]
    for kind, count in negatives.items():
        drawn = chance.sample(example[kind], min(count, len(example[kind])))
        candidates += [candidate(text, gold=False) for text in drawn]
    return QueryList(example["question"], tuple(candidates), "package")
