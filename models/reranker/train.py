"""Step 3: train a cross-encoder, starting from the weights of the embedder.

The loss is a listwise softmax over one positive and hard negatives (Cao et al. 2007), with a small
binary cross-entropy term so that the sigmoid of a single logit is meaningful. Two fifths of the
texts are given without context, the others with their path or their outline.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn import functional
from transformers import AutoModelForSequenceClassification, AutoTokenizer

# Packages that are not used in training.
HELD_OUT = frozenset({"flask", "zarr", "shapely", "redis", "tokenizers", "py4j"})
QUERY_TOKENS = 48
SEED = 11


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hyperparameters: negatives of each kind, batch sizes, learning rate, loss and averaging."""

    ranked: int = 2
    beside: int = 1
    asked: int = 1
    pair_tokens: int = 288
    questions_per_step: int = 8
    pairs_per_batch: int = 8
    rate: float = 1e-4
    warmup: float = 0.06
    binary: float = 0.1
    averaged: float = 0.995


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and a text as token ids: [CLS] question [SEP] text [SEP]."""

    ids: list[int]
    types: list[int]


class Reader:
    """Encodes pairs in the input format of the reranker."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._tokens = AutoTokenizer.from_pretrained(folder)
        self._limit = limit

    def pair(self, question: str, text: str) -> Pair:
        """Return an encoded pair. The text is truncated to fit; the question to QUERY_TOKENS."""
        asked = self._ids(question)[:QUERY_TOKENS]
        read = self._ids(text)[: self._limit - len(asked) - 3]
        first, sep = self._tokens.cls_token_id, self._tokens.sep_token_id
        ids = [first, *asked, sep, *read, sep]
        return Pair(ids, [0] * (len(asked) + 2) + [1] * (len(read) + 1))

    def _ids(self, text: str) -> list[int]:
        found: list[int] = self._tokens(text, add_special_tokens=False, verbose=False).input_ids
        return found


def situate(text: dict[str, str], package: str, how: str) -> str:
    """Return a text without context, or after its path or its outline, as `how` says."""
    if how == "outline" and text["outline"]:
        return f"{text['outline']}\n{text['text']}"
    return f"{package}/{text['path']}\n{text['text']}" if how != "bare" else text["text"]


def sample(example: dict, recipe: Recipe, chance: random.Random) -> list[str]:
    """Return an answer and its negatives, all with the same kind of context.

    Negatives are drawn from the best-ranked ones of each kind.
    """
    answers = example["answers"]
    answer = answers[0] if chance.random() < 0.8 else chance.choice(answers)
    others = []
    for kind in ("ranked", "beside", "asked"):
        likeliest = example[kind][: 3 * getattr(recipe, kind)]
        others += chance.sample(likeliest, min(getattr(recipe, kind), len(likeliest)))
    how = chance.choice(["bare", "bare", "path", "outline", "outline"])
    return [situate(text, example["package"], how) for text in [answer, *others]]


def score(model: torch.nn.Module, pairs: Sequence[Pair]) -> torch.Tensor:
    """Return (n,) logits."""
    length = max(len(pair.ids) for pair in pairs)

    def padded(rows: list[list[int]]) -> torch.Tensor:
        return torch.tensor([row + [0] * (length - len(row)) for row in rows])

    logits: torch.Tensor = model(
        input_ids=padded([pair.ids for pair in pairs]),
        token_type_ids=padded([pair.types for pair in pairs]),
        attention_mask=padded([[1] * len(pair.ids) for pair in pairs]),
    ).logits[:, 0]
    return logits


def batches_by_length(pairs: Sequence[Pair], size: int) -> Iterator[list[int]]:
    """Yield the indices of pairs in batches of similar length."""
    order = sorted(range(len(pairs)), key=lambda n: len(pairs[n].ids))
    for start in range(0, len(order), size):
        yield order[start : start + size]


def step(model: torch.nn.Module, lists: list[list[Pair]], recipe: Recipe) -> float:
    """Add the gradient of one step to the parameters; return the loss.

    A batch holds pairs of similar length from any list. The loss is computed from the logits of
    all batches, and its gradient by logit is then propagated back through each batch.
    """
    flat = [pair for each in lists for pair in each]
    groups = list(batches_by_length(flat, recipe.pairs_per_batch))
    logits = torch.zeros(len(flat))
    graphs = []
    for group in groups:
        scored = score(model, [flat[n] for n in group])
        logits[group] = scored.detach()
        graphs.append(scored)
    logits.requires_grad_()
    loss = torch.zeros(())
    start = 0
    for each in lists:
        row = logits[start : start + len(each)]
        target = torch.zeros(len(each))
        target[0] = 1
        loss = loss + functional.cross_entropy(row[None], torch.zeros(1, dtype=torch.long))
        loss = loss + recipe.binary * functional.binary_cross_entropy_with_logits(row, target)
        start += len(each)
    loss = loss / len(lists)
    loss.backward()
    for group, scored in zip(groups, graphs, strict=True):
        scored.backward(logits.grad[group])
    return float(loss.detach())


@torch.no_grad()
def validate(model: torch.nn.Module, reader: Reader, held: Sequence[dict], how: str) -> str:
    """Return the mean reciprocal rank and the top-1 share of answers among 12 negatives."""
    model.eval()
    ranks = []
    for example in held:
        texts = [example["answers"][0], *example["ranked"], *example["beside"]]
        pairs = [
            reader.pair(example["question"], situate(t, example["package"], how)) for t in texts
        ]
        logits = score(model, pairs)
        ranks.append(1 + int((logits[1:] >= logits[0]).sum()))
    model.train()
    mrr = sum(1 / rank for rank in ranks) / len(ranks)
    return f"{how}: mrr {mrr:.4f} top-1 {sum(rank == 1 for rank in ranks) / len(ranks):.4f}"


def train(pairs: Path, start: Path, out: Path, *, epochs: float, seed: int, recipe: Recipe) -> None:
    """Train a model, saving the moving average of the weights every 200 steps."""
    torch.manual_seed(seed)
    chance = random.Random(seed)
    with pairs.open(encoding="utf-8") as lines:
        examples = [json.loads(line) for line in lines]
    examples = [example for example in examples if example["ranked"]]
    held = [example for example in examples if example["package"] in HELD_OUT]
    held = random.Random(SEED).sample(held, min(200, len(held)))
    trained_on = [example for example in examples if example["package"] not in HELD_OUT]
    reader = Reader(start, recipe.pair_tokens)
    # Dropout takes a third of the time on a CPU and is not needed for one epoch.
    model = AutoModelForSequenceClassification.from_pretrained(
        start,
        num_labels=1,
        attn_implementation="sdpa",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model.bert.embeddings.word_embeddings.weight.requires_grad_(requires_grad=False)
    weights = [each for each in model.parameters() if each.requires_grad]
    averaged = [each.detach().clone() for each in weights]
    adam = torch.optim.AdamW(weights, lr=recipe.rate, weight_decay=0.01)
    steps = int(epochs * len(trained_on) / recipe.questions_per_step)
    warm = max(1, int(recipe.warmup * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        adam, lambda n: min((n + 1) / warm, max(0.02, (steps - n) / (steps - warm)))
    )
    print(f"{len(trained_on)} questions, {len(held)} held out, {steps} steps", flush=True)
    began, queue, total = time.monotonic(), [], 0.0
    for n in range(1, steps + 1):
        if len(queue) < recipe.questions_per_step:
            queue = chance.sample(trained_on, len(trained_on))
        batch = [queue.pop() for _ in range(recipe.questions_per_step)]
        lists = [[reader.pair(e["question"], t) for t in sample(e, recipe, chance)] for e in batch]
        total += step(model, lists, recipe)
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        adam.step()
        schedule.step()
        adam.zero_grad()
        keep = min(recipe.averaged, n / (n + 10))
        with torch.no_grad():
            for mean, weight in zip(averaged, weights, strict=True):
                mean.lerp_(weight, 1 - keep)
        if n % 20 == 0:
            print(f"{n}/{steps} loss {total / 20:.4f} {time.monotonic() - began:.0f} s", flush=True)
            total = 0.0
        if n % 200 == 0 or n == steps:
            own = [each.detach().clone() for each in weights]
            _set(weights, averaged)
            model.save_pretrained(out)
            reader._tokens.save_pretrained(out)
            if n == steps:
                for how in ("bare", "path", "outline"):
                    print(f"averaged, {validate(model, reader, held, how)}", flush=True)
            _set(weights, own)
    print(f"last, {validate(model, reader, held, 'bare')}", flush=True)


@torch.no_grad()
def _set(weights: Sequence[torch.Tensor], values: Sequence[torch.Tensor]) -> None:
    for weight, value in zip(weights, values, strict=True):
        weight.copy_(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True, help="folder of MiniLM weights")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    train(
        given.pairs, given.start, given.out, epochs=given.epochs, seed=given.seed, recipe=Recipe()
    )


if __name__ == "__main__":
    main()
