"""Step 2: train the upper layers of a small language model on the prompts of groups.

The lowest layers and the embeddings are frozen; the states that the frozen layers give are computed
once an example and kept. The loss is that of the tokens of answers alone. The rate is constant, and
falls linearly in the last part of the time that is given, so that training ends with it, however
many steps it has come to. A checkpoint is written every few minutes, and a run that was stopped
continues from the last one. The result is the mean of the last checkpoints or the last one,
whichever has the lower loss on held-out documents.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from examples import Example
from network import Network
from torch.nn import functional

SEED = 13
# A prompt longer than this is left out, not truncated.
MAX_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hyperparameters.

    `frozen` is the number of the lowest layers that are not trained, `falling` the share of the
    time in which the rate falls.
    """

    frozen: int = 14
    rate: float = 3e-4
    warm_steps: int = 20
    minutes: float = 90.0
    falling: float = 0.4
    checkpoint_minutes: float = 8.0
    averaged: int = 3
    validated: int = 8


class States:
    """Examples with the states that the frozen layers give, computed once."""

    def __init__(self, network: Network, frozen: int) -> None:
        self._network = network
        self._frozen = frozen
        self._known: dict[int, torch.Tensor] = {}

    @torch.no_grad()
    def of(self, example: Example) -> torch.Tensor:
        """Return (n, width): the states of prompt and answer, without the last token."""
        if id(example) not in self._known:
            tokens = torch.tensor([*example.prompt, *example.answer[:-1]])
            hidden = self._network.run(self._network.embed(tokens), range(self._frozen))
            self._known[id(example)] = hidden.half()
        return self._known[id(example)].float()


@dataclass(slots=True)
class Progress:
    """What a checkpoint holds besides the weights."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0


def train(start: Path, examples: Sequence[Example], folder: Path, recipe: Recipe) -> Network:
    """Train until the time is spent; checkpoints and the log are written to `folder`."""
    torch.manual_seed(SEED)
    folder.mkdir(parents=True, exist_ok=True)
    network = Network.read(start, precision=fastest_precision())
    trained = freeze(network, recipe.frozen)
    adam = torch.optim.AdamW(
        trained, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True
    )
    fits = [e for e in examples if len(e.prompt) + len(e.answer) <= MAX_TOKENS]
    held = [e for e in fits if e.held_out]
    held = random.Random(SEED).sample(held, min(recipe.validated, len(held)))
    learned = [e for e in fits if not e.held_out]
    states = States(network, recipe.frozen)
    progress = resume(network, adam, folder)
    left_out = len(examples) - len(fits)
    log(folder, f"{len(learned)} examples, {left_out} too long, products in {network.precision}")
    if not progress.step:
        log(folder, f"0 steps: held-out loss {validate(network, states, held, recipe):.3f}")
    saved = began = time.monotonic()
    before, total, count = progress.seconds, 0.0, 0
    for example in endless(learned, skip=progress.step):
        left = 1 - progress.seconds / (60 * recipe.minutes)
        if left <= 0:
            break
        for group in adam.param_groups:
            warm = (progress.step + 1) / recipe.warm_steps
            group["lr"] = recipe.rate * min(1.0, left / recipe.falling, warm)
        losses = answer_losses(network, states, example, recipe)
        losses.mean().backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        adam.step()
        adam.zero_grad()
        total, count = total + float(losses.detach().sum()), count + len(losses)
        now = time.monotonic()
        progress.step += 1
        progress.tokens += len(example.prompt) + len(example.answer)
        progress.seconds = before + now - began
        if now - saved > 60 * recipe.checkpoint_minutes:
            loss = validate(network, states, held, recipe)
            save(network, adam, progress, folder, keep=recipe.averaged)
            saved = time.monotonic()
            log(
                folder,
                f"{progress.step} steps, {progress.step / len(learned):.2f} passes,"
                f" {progress.seconds / 60:.0f} min: loss {total / count:.3f},"
                f" held-out {loss:.3f}",
            )
            total, count = 0.0, 0
    save(network, adam, progress, folder, keep=recipe.averaged)
    last = validate(network, states, held, recipe)
    choose_mean(network, states, held, recipe, folder=folder, last=last)
    return network


def fastest_precision() -> torch.dtype:
    """Return bfloat16 if this processor multiplies it faster than float32."""
    known = torch.cpu.get_capabilities()
    fast = any(known.get(name) for name in ("avx512_bf16", "amx_bf16"))
    return torch.bfloat16 if fast else torch.float32


def freeze(network: Network, layers: int) -> list[torch.Tensor]:
    """Freeze the embeddings and the lowest layers; return the weights that are trained."""
    trained = []
    for name, weight in network.tensors().items():
        is_layer = name.startswith("blk.")
        free = int(name.split(".")[1]) >= layers if is_layer else name == "output_norm.weight"
        weight.requires_grad_(requires_grad=free)
        trained += [weight] if free else []
    return trained


def answer_losses(
    network: Network, states: States, example: Example, recipe: Recipe
) -> torch.Tensor:
    """Return the loss of each token of the answer that is to be learned."""
    layers = range(recipe.frozen, network.shape.layers)
    hidden = network.run(states.of(example), layers)
    scored = torch.tensor(example.scored)
    logits = network.logits(hidden[len(example.prompt) - 1 :][scored])
    return functional.cross_entropy(logits, torch.tensor(example.answer)[scored], reduction="none")


@torch.no_grad()
def validate(network: Network, states: States, held: Sequence[Example], recipe: Recipe) -> float:
    """Return the loss a token of the answers of held-out documents, by products in float32."""
    precision, network.precision = network.precision, torch.float32
    losses = torch.cat([answer_losses(network, states, each, recipe) for each in held])
    network.precision = precision
    return float(losses.mean())


def endless(examples: Sequence[Example], *, skip: int) -> Iterator[Example]:
    """Yield the examples in a new order each pass, after the first `skip`."""
    at = 0
    for seed in range(SEED, 10**9):
        order = random.Random(seed).sample(range(len(examples)), len(examples))
        for number in order:
            at += 1
            if at > skip:
                yield examples[number]


def save(
    network: Network, adam: torch.optim.Optimizer, progress: Progress, folder: Path, *, keep: int
) -> None:
    """Write a checkpoint, and remove those before the last `keep`."""
    weights = {n: w.detach() for n, w in network.tensors().items() if w.requires_grad}
    part = folder / "checkpoint.part"
    torch.save({"weights": weights}, part)
    part.rename(folder / f"checkpoint-{progress.step:06}.pt")
    torch.save(
        {
            "adam": adam.state_dict(),
            "progress": (progress.step, progress.seconds, progress.tokens),
        },
        part,
    )
    part.rename(folder / "state.pt")
    for old in checkpoints(folder)[:-keep]:
        old.unlink()


def resume(network: Network, adam: torch.optim.Optimizer, folder: Path) -> Progress:
    """Load the last checkpoint; return its progress, or that of a new run."""
    if not (folder / "state.pt").exists():
        return Progress()
    state = torch.load(folder / "state.pt")
    progress = Progress(*state["progress"])
    adam.load_state_dict(state["adam"])
    load(network, [folder / f"checkpoint-{progress.step:06}.pt"])
    return progress


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints, in order."""
    return sorted(folder.glob("checkpoint-*.pt"))


@torch.no_grad()
def load(network: Network, files: Sequence[Path]) -> None:
    """Set the trained weights to the mean of those of some checkpoints."""
    found = [torch.load(file)["weights"] for file in files]
    tensors = network.tensors()
    for name in found[0]:
        tensors[name].copy_(torch.stack([each[name] for each in found]).mean(0))


def choose_mean(
    network: Network,
    states: States,
    held: Sequence[Example],
    recipe: Recipe,
    *,
    folder: Path,
    last: float,
) -> None:
    """Load the mean of the last checkpoints, unless it is worse than the last one."""
    files = checkpoints(folder)
    load(network, files)
    mean = validate(network, states, held, recipe)
    log(folder, f"held-out loss: last {last:.3f}, mean of {len(files)} checkpoints {mean:.3f}")
    if last < mean:
        load(network, files[-1:])


def log(folder: Path, line: str) -> None:
    """Print a line and add it to the log."""
    print(line, flush=True)
    with (folder / "log.txt").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
