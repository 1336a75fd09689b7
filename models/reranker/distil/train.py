"""Training of a student on the labels of its teachers.

The loss of a list compares the student's logits with the labels: their differences within the list
(margin-MSE; Hofstätter et al. 2020), their values, so that the sigmoid of a single logit stays
meaningful, and their softmax; where one candidate is known to answer, its cross-entropy is added.
Products are computed in bfloat16 (`packed.py`), which is fast with AMX or AVX512_BF16.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from excerpt import Pair, PairReader
from label import read_labels
from lists import QueryList, read_lists
from numpy.typing import NDArray
from student import Student
from torch import Tensor
from torch.nn import functional

from crx._models.card import TOKENIZER_FILE

SEED = 3


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hyperparameters: lengths of pairs, batch sizes, learning rate, loss and averaging.

    `lengths` are those that a step draws from, in tokens of a pair and of the outline in it, with
    the weights `length_weights`.
    """

    lengths: tuple[tuple[int, int], ...] = ((112, 24), (144, 32), (288, 80))
    length_weights: tuple[int, ...] = (25, 35, 40)
    lists_per_step: int = 5
    rate: float = 8e-5
    least_rate: float = 0.02
    warmup_steps: int = 30
    value: float = 0.25
    softmax: float = 0.5
    answer: float = 0.6
    averaged: float = 0.995
    save_every: int = 500


@dataclass(frozen=True, slots=True)
class Example:
    """A query with its candidates, their labels, and which of them answer."""

    asked: QueryList
    labels: Tensor
    gold: Tensor


def train(
    student: Student,
    out: Path,
    *,
    lists: Sequence[Path],
    held_out: Sequence[Path],
    minutes: float,
    recipe: Recipe,
) -> None:
    """Train for some minutes; the moving average of the weights is saved to `out` now and then.

    `lists` and `held_out` are a file of query lists and that of their labels each; lists are read
    again when all were used, since labelling may go on beside training. `out` receives a folder for
    each step at which weights are saved, with a folder for each depth. The learning rate falls with
    the time.
    """
    torch.manual_seed(SEED)
    chance = random.Random(SEED)
    held = read_examples(*held_out)
    reader = PairReader(student.start / TOKENIZER_FILE)
    weights = [each for each in student.parameters() if each.requires_grad]
    averaged = [each.detach().clone() for each in weights]
    adam = torch.optim.AdamW(weights, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.01)
    print(f"{len(held)} lists held out", flush=True)
    torch.set_num_threads(1)
    began, total = time.monotonic(), torch.zeros(len(student.depths))
    for n, batch in enumerate(_batches(lists, recipe.lists_per_step, chance), start=1):
        spent = (time.monotonic() - began) / 60 / minutes
        if spent >= 1:
            break
        for group in adam.param_groups:
            fallen = max(recipe.least_rate, 1 - spent)
            group["lr"] = recipe.rate * fallen * min(1, n / recipe.warmup_steps)
        tokens, head_tokens = chance.choices(recipe.lengths, recipe.length_weights)[0]
        pairs = [
            pair
            for each in batch
            for pair in _pairs(reader, each.asked, tokens=tokens, head_tokens=head_tokens)
        ]
        losses = _losses(student, pairs, batch, recipe)
        losses.sum().backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        adam.step()
        adam.zero_grad()
        _average(averaged, weights, min(recipe.averaged, n / (n + 10)))
        total += losses.detach()
        if n % 25 == 0:
            means = " ".join(f"{each:.3f}" for each in total / 25)
            print(f"{n}: {means}, {60 * minutes * spent:.0f} s", flush=True)
            total.zero_()
        if n % recipe.save_every == 0:
            _save(student, out / f"{n:06}", weights, averaged, reader, held, recipe)
    _save(student, out / f"{n:06}", weights, averaged, reader, held, recipe)


def read_examples(lists: Path, labels: Path) -> list[Example]:
    """Return the lists that have labels."""
    return [
        Example(
            asked, torch.from_numpy(label), torch.tensor([each.gold for each in asked.candidates])
        )
        for asked, label in zip(read_lists(lists), read_labels(labels), strict=False)
    ]


@torch.no_grad()
def validate(student: Student, reader: PairReader, held: Sequence[Example], recipe: Recipe) -> str:
    """Return the mean reciprocal rank of the answers, by each depth and by the labels."""
    found = []
    for tokens, head_tokens in (recipe.lengths[0], recipe.lengths[-1]):
        ranks: dict[str, list[list[int]]] = {}
        for each in held:
            pairs = _pairs(reader, each.asked, tokens=tokens, head_tokens=head_tokens)
            logits = student(pairs).numpy()
            row = [_rank_of_first(row) for row in (*logits, each.labels.numpy())]
            ranks.setdefault(each.asked.kind, []).append(row)
        for kind, rows in ranks.items():
            means = " ".join(f"{mean:.3f}" for mean in (1 / np.array(rows)).mean(axis=0))
            found.append(f"{kind} {means}")
        found[-len(ranks)] = f"{tokens} tokens: {found[-len(ranks)]}"
    return "MRR with " + ", ".join(found)


def _rank_of_first(logits: NDArray[np.float32]) -> int:
    return 1 + int((logits[1:] >= logits[0]).sum())


def _batches(lists: Sequence[Path], size: int, chance: random.Random) -> Iterator[list[Example]]:
    while True:
        examples = read_examples(*lists)
        print(f"{len(examples)} lists", flush=True)
        order = chance.sample(range(len(examples)), len(examples))
        for start in range(0, len(order) - size + 1, size):
            yield [examples[at] for at in order[start : start + size]]


def _pairs(reader: PairReader, asked: QueryList, *, tokens: int, head_tokens: int) -> list[Pair]:
    return [
        reader.pair(asked.query, each.head, each.text, tokens=tokens, head_tokens=head_tokens)
        for each in asked.candidates
    ]


def _losses(
    student: Student, pairs: Sequence[Pair], batch: Sequence[Example], recipe: Recipe
) -> Tensor:
    """Return the mean loss of a batch by depth."""
    logits = student(pairs)
    sizes = [len(each.labels) for each in batch]
    parts = zip(logits.split(sizes, dim=1), batch, strict=True)
    return torch.stack([_loss(part, each, recipe) for part, each in parts]).mean(dim=0)


def _loss(logits: Tensor, example: Example, recipe: Recipe) -> Tensor:
    """Return the loss of a list by depth; `logits` are (depths, candidates)."""
    labels = example.labels
    centred = logits - logits.mean(-1, keepdim=True)
    loss = (centred - (labels - labels.mean())).square().mean(-1)
    loss = loss + recipe.value * (logits - labels).square().mean(-1)
    divergence = functional.kl_div(
        logits.log_softmax(-1), labels.softmax(-1).expand_as(logits), reduction="none"
    )
    loss = loss + recipe.softmax * divergence.sum(-1)
    if example.gold.sum() == 1:
        answer = example.gold.int().argmax().expand(len(logits))
        loss = loss + recipe.answer * functional.cross_entropy(logits, answer, reduction="none")
    return loss


@torch.no_grad()
def _average(averaged: Sequence[Tensor], weights: Sequence[Tensor], keep: float) -> None:
    for mean, weight in zip(averaged, weights, strict=True):
        mean.lerp_(weight, 1 - keep)


@torch.no_grad()
def _save(
    student: Student,
    out: Path,
    weights: Sequence[Tensor],
    averaged: Sequence[Tensor],
    reader: PairReader,
    held: Sequence[Example],
    recipe: Recipe,
) -> None:
    """Save the averaged weights and print their figures; training goes on with its own."""
    own = [each.clone() for each in weights]
    for weight, mean in zip(weights, averaged, strict=True):
        weight.copy_(mean)
    print(f"  averaged: {validate(student, reader, held, recipe)}", flush=True)
    for depth in student.depths:
        student.save(depth, out / f"{depth}-layers")
    for weight, value in zip(weights, own, strict=True):
        weight.copy_(value)
