"""Labels of query lists: the logits of two teachers, added.

crx's own reranker reads whole chunks, the larger teacher excerpts. Their sum ranks contracts better
than either.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from lists import read_lists
from numpy.typing import NDArray
from score import Scorer

# Tokens that each teacher reads of a pair.
OWN_TOKENS = 320
OWN_HEAD_TOKENS = 80
STRONG_TOKENS = 128
# The logits of the two differ in spread.
OWN_SPREAD = 1.5
STRONG_SPREAD = 4.0


def write_labels(lists: Path, out: Path, *, own: Path, strong: Path, limit: int) -> None:
    """Append the labels of the first `limit` lists to `out`; those that it has are skipped."""
    teachers = (
        (Scorer(own, tokens=OWN_TOKENS, head_tokens=OWN_HEAD_TOKENS), OWN_SPREAD),
        (Scorer(strong, tokens=STRONG_TOKENS), STRONG_SPREAD),
    )
    done = len(read_labels(out)) if out.exists() else 0
    with out.open("a", encoding="utf-8") as file:
        for asked in read_lists(lists)[done:limit]:
            heads = [each.head for each in asked.candidates]
            texts = [each.text for each in asked.candidates]
            label = sum(
                teacher.score(asked.query, heads, texts) / spread for teacher, spread in teachers
            )
            file.write(json.dumps(np.round(label, 3).tolist()) + "\n")
            file.flush()


def read_labels(path: Path) -> list[NDArray[np.float32]]:
    """Return the labels of the lists that have some."""
    # The last line may be half written while labelling goes on beside training.
    with path.open(encoding="utf-8") as lines:
        return [np.array(json.loads(line), np.float32) for line in lines if line.endswith("\n")]
