"""Training of a student on the hidden states of its teacher.

The losses are the mean squared error of the last hidden state of each token, relative to its
variance; of the pooled vector, the cosine to the teacher's, both less the mean vector; the error of
its products with the teacher's vectors of queries, which is what a search ranks by; and the
divergence of its similarities to the rest of the batch. A batch has texts of one length, so that
nothing is padded. The teacher's states of a batch are kept, and the batch is seen again.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tokenizers
import torch
from numpy.typing import NDArray
from student import Embeddings, Student, save_layers
from torch import Tensor, nn
from torch.nn import functional

SEED = 3
# A batch: token ids (n, length), and the teacher's hidden states (n, length, hidden).
Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hyperparameters. `shares` are those of the kinds of text; `queries` that of queries.

    `replay` is the share of steps with a batch that was seen before. The weight of the hidden
    states is 1 until `hidden_until` of the time, and `least_hidden` after `hidden_after` of it.
    """

    shares: Mapping[str, float]
    queries: float = 0.10
    tokens_per_step: int = 2048
    max_tokens: int = 432
    rate: float = 1e-3
    least_rate: float = 0.02
    warmup: float = 0.02
    hidden_until: float = 0.3
    hidden_after: float = 0.9
    least_hidden: float = 0.1
    pooled: float = 3.0
    divergence: float = 1.0
    temperature: float = 0.03
    replay: float = 0.6
    kept_batches: int = 1500
    averaged: float = 0.999
    held_out: int = 24
    query_bank: int = 2000
    save_s: float = 300


class Batches:
    """Batches of texts of one length with the teacher's hidden states."""

    def __init__(
        self,
        texts: Mapping[str, Sequence[str]],
        queries: Sequence[str],
        *,
        teacher: nn.Module,
        embeddings: Embeddings,
        tokenizer: Path,
        recipe: Recipe,
        chance: random.Random,
    ) -> None:
        self._teacher, self._embeddings = teacher, embeddings
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._texts, self._queries = texts, queries
        self._recipe, self._chance = recipe, chance
        self._waiting: dict[int, list[list[int]]] = {}
        self._kept: list[Batch] = []

    def fresh(self) -> Batch:
        """Return a batch of texts that are drawn now."""
        while True:
            ids = self._tokenizer.encode(self._draw()).ids
            length = min(len(ids), self._recipe.max_tokens)
            length -= length % (8 if length > 32 else 2)
            if length < 6:
                continue
            row = self._waiting.setdefault(length, [])
            row.append([*ids[: length - 1], ids[-1]])
            if len(row) * length >= self._recipe.tokens_per_step:
                return self._label(np.array(self._waiting.pop(length), np.int64))

    def next(self) -> Batch:
        """Return a fresh batch, or one that was seen before."""
        if len(self._kept) > 20 and self._chance.random() < self._recipe.replay:
            return self._chance.choice(self._kept)
        self._kept = [*self._kept[-self._recipe.kept_batches :], self.fresh()]
        return self._kept[-1]

    def query_vectors(self, count: int) -> Tensor:
        """Return unit vectors of queries by the teacher."""
        by_length: dict[int, list[list[int]]] = {}
        for query in self._chance.sample(self._queries, min(count, len(self._queries))):
            ids = self._tokenizer.encode(f"query: {query}").ids
            by_length.setdefault(len(ids), []).append(ids)
        states = (self._label(np.array(rows, np.int64))[1] for rows in by_length.values())
        return torch.cat([functional.normalize(each.float().mean(1), dim=-1) for each in states])

    def _draw(self) -> str:
        if self._chance.random() < self._recipe.queries:
            return f"query: {self._chance.choice(self._queries)}"
        shares = self._recipe.shares
        (kind,) = self._chance.choices(list(shares), list(shares.values()))
        return f"passage: {self._chance.choice(self._texts[kind])}"

    def _label(self, ids: NDArray[np.int64]) -> Batch:
        tokens = torch.from_numpy(ids)
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            return tokens, self._teacher(self._embeddings(tokens)).bfloat16()


class Objective:
    """The losses of a student; their scales come from batches that are not trained on."""

    def __init__(self, embeddings: Embeddings, held_out: Sequence[Batch], queries: Tensor) -> None:
        states = torch.cat([states.float().flatten(0, 1) for _, states in held_out])
        vectors = torch.cat([_pool(states.float()) for _, states in held_out])
        self._embeddings = embeddings
        self._variance = states.var(0).mean()
        self._mean = vectors.mean(0)
        self._queries = queries - queries.mean(0)
        self._spread = self._products(vectors - self._mean).square().mean()

    def losses(self, student: Student, batch: Batch, *, temperature: float) -> Tensor:
        """Return the four losses of the module's description."""
        ids, states = batch
        with torch.autocast("cpu", torch.bfloat16):
            found = student(self._embeddings(ids)).float()
        states = states.float()
        hidden = functional.mse_loss(found, states) / self._variance
        ours, wanted = _pool(found), _pool(states)
        cosine = functional.cosine_similarity(ours - self._mean, wanted - self._mean, dim=-1)
        products = self._products(ours - wanted).square().mean() / self._spread
        same = torch.eye(len(ours), dtype=torch.bool)
        ours, wanted = (
            (each @ each.T / temperature).masked_fill(same, -1e4).log_softmax(-1)
            for each in (ours, wanted)
        )
        divergence = functional.kl_div(ours, wanted, log_target=True, reduction="batchmean")
        return torch.stack([hidden, 1 - cosine.mean(), products, divergence])

    def _products(self, vectors: Tensor) -> Tensor:
        return vectors @ self._queries.T


def train(
    student: Student,
    batches: Batches,
    embeddings: Embeddings,
    out: Path,
    *,
    minutes: float,
    recipe: Recipe,
) -> None:
    """Train for some minutes; `out` receives the moving average of the weights.

    A run that was stopped goes on with the state beside it, and the time it had used counts.
    """
    torch.manual_seed(SEED)
    held_out = [batches.fresh() for _ in range(recipe.held_out)]
    objective = Objective(embeddings, held_out, batches.query_vectors(recipe.query_bank))
    averaged = [each.detach().clone() for each in student.parameters()]
    adam = torch.optim.AdamW(
        student.parameters(), lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.01
    )
    state, used, step = out.with_suffix(".state"), 0.0, 0
    if state.exists():
        saved = torch.load(state)
        student.load_state_dict(saved["student"])
        adam.load_state_dict(saved["adam"])
        averaged, used, step = saved["averaged"], saved["used"], saved["step"]
    began = saved_at = time.monotonic() - used
    while (spent := (time.monotonic() - began) / 60 / minutes) < 1:
        step += 1
        for group in adam.param_groups:
            group["lr"] = recipe.rate * _schedule(spent, recipe)
        losses = objective.losses(student, batches.next(), temperature=recipe.temperature)
        weights = [_hidden_weight(spent, recipe), recipe.pooled, recipe.pooled, recipe.divergence]
        (losses * torch.tensor(weights)).sum().backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        adam.step()
        adam.zero_grad()
        _average(averaged, student, min(recipe.averaged, step / (step + 20)))
        if time.monotonic() - saved_at > recipe.save_s:
            saved_at = time.monotonic()
            _save_state(state, student, adam, averaged, used=saved_at - began, step=step)
            print(
                f"{step}: {_validate(student, objective, held_out, averaged, recipe)}", flush=True
            )
    print(f"{step}: {_validate(student, objective, held_out, averaged, recipe)}", flush=True)
    with _averaged(student, averaged):
        save_layers(student, out)
    state.unlink(missing_ok=True)


def _pool(states: Tensor) -> Tensor:
    return functional.normalize(states.mean(1), dim=-1)


def _schedule(spent: float, recipe: Recipe) -> float:
    """Return the factor of the rate: a short rise, then a cosine down to the least one."""
    falling = (1 + math.cos(math.pi * spent)) / 2
    return min(1, spent / recipe.warmup) * max(falling, recipe.least_rate)


def _hidden_weight(spent: float, recipe: Recipe) -> float:
    """Return the weight of the hidden states, which matter less than the pooled vectors later."""
    falling = (spent - recipe.hidden_until) / (recipe.hidden_after - recipe.hidden_until)
    return 1 - (1 - recipe.least_hidden) * min(1, max(0, falling))


@torch.no_grad()
def _average(averaged: Sequence[Tensor], student: Student, keep: float) -> None:
    for mean, weight in zip(averaged, student.parameters(), strict=True):
        mean.lerp_(weight, 1 - keep)


@contextlib.contextmanager
def _averaged(student: Student, averaged: Sequence[Tensor]) -> Iterator[None]:
    """Give the student the averaged weights for a while."""
    own = [each.detach().clone() for each in student.parameters()]
    for values in (averaged, own):
        for weight, value in zip(student.parameters(), values, strict=True):
            weight.data.copy_(value)
        if values is averaged:
            yield


@torch.no_grad()
def _validate(
    student: Student,
    objective: Objective,
    held_out: Sequence[Batch],
    averaged: Sequence[Tensor],
    recipe: Recipe,
) -> str:
    with _averaged(student, averaged):
        losses = [
            objective.losses(student, batch, temperature=recipe.temperature) for batch in held_out
        ]
    names = ("hidden", "cosine", "products", "divergence")
    means = torch.stack(losses).mean(0).tolist()
    return ", ".join(f"{name} {mean:.4f}" for name, mean in zip(names, means, strict=True))


def _save_state(
    path: Path,
    student: Student,
    adam: torch.optim.Optimizer,
    averaged: Sequence[Tensor],
    *,
    used: float,
    step: int,
) -> None:
    part = path.with_suffix(".part")
    state = {
        "student": student.state_dict(),
        "adam": adam.state_dict(),
        "averaged": list(averaged),
        "used": used,
        "step": step,
    }
    torch.save(state, part)
    os.replace(part, path)
