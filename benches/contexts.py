"""What a context costs: one full prompt per chunk, prefix reuse one by one, and shared batches.

One document of 4,000 tokens (eight with `--full`), ten chunks of 400 each, 64 new tokens a context,
a model of SmolLM2-135M's shape with random Q8_0 weights (speed does not depend on them), on the
CPU.

full        `llama_cpp.Llama`, the whole prompt computed for every chunk
sequential  `llama_cpp.Llama`, whose prefix match keeps the document between chunks
shared      crx: the document computed once, its chunks decoded together

All run in one process with the same prompts (as tokens) and threads, the class once with flash
attention, as crx has it, and once without, as the class comes. `full` is so slow that it is
measured on a sample of the chunks, spread over the documents. Seconds are a
median chunk's for `full` and a mean chunk's for the others, of wall clock and of processor time:
on a busy machine only the latter compares, and only with one thread (others wait by spinning).
Prefilled tokens are those of prompts that were computed, the document's own among them, for all
three alike: each begins with nothing in memory. What fills up a step is time, but no prompt.
Memory is what llama.cpp says that it allocates for keys, values and computing.

    python benches/contexts.py [--full] [--exact] [--places 8] [--sample 4] [--threads 1] [--json]

`--exact` takes F32 weights and F32 keys and values, where rounding moves the outputs least. With
Q8_0 an activation that is rounded to the other neighbour moves them more, and random weights,
whose outputs are all about equally likely, then often choose another token.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llama_cpp

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("python", "tests/support")]

import gguf  # noqa: E402
import tiny_gguf  # noqa: E402

from crx.backends.llama.model import KV_TYPES, LlamaModel, NativeLog  # noqa: E402
from crx.backends.llama.session import SequenceResult, Session  # noqa: E402
from crx.context.compute_usage import ComputeUsage  # noqa: E402

Tokens = list[int]
Job = tuple[Tokens, list[Tokens]]
Clocks = tuple[float, float]


def documents(model: LlamaModel, args: argparse.Namespace) -> list[Job]:
    """Random tokens in the shape of the default prompt: each document's prefix, its suffixes.

    Instructions and frame take about 25 tokens before the chunk and 50 after it.
    """
    rng = random.Random(5)

    def tokens(n: int) -> Tokens:
        return [rng.randrange(1000, model.n_vocab) for _ in range(n)]

    jobs = []
    before, after = tokens(25), tokens(50)
    for _ in range(args.documents):
        text = tokens(args.tokens)
        cuts = [i * len(text) // args.chunks for i in range(args.chunks + 1)]
        chunks = [text[a:b] for a, b in itertools.pairwise(cuts)]
        jobs.append((before + text, [chunk + after for chunk in chunks]))
    return jobs


def shared(
    model: LlamaModel,
    jobs: list[Job],
    args: argparse.Namespace,
    *,
    slots: int,
    log: NativeLog,
) -> tuple[list[list[Tokens]], dict[str, Any]]:
    """Decode all chunks with crx's session; return the answers and what they took."""
    counts = ComputeUsage()
    capacity = max(
        len(prefix) + slots * (max(map(len, suffixes)) + args.new) for prefix, suffixes in jobs
    )
    log.lines.clear()
    begun = clocks()
    session = Session(
        model,
        capacity=capacity,
        slots=slots,
        kv=args.kv,
        threads=args.threads,
        max_tokens=args.new,
        counts=counts,
        shares=True,
        heartbeat=lambda: None,
    )
    memory = buffers(log)
    answers = [sorted(decode(session, job), key=lambda a: a.number) for job in jobs]
    wall, cpu = (now - then for now, then in zip(clocks(), begun, strict=True))
    session.close()
    chunks = sum(len(suffixes) for _, suffixes in jobs)
    return [[list(a.tokens) for a in found] for found in answers], {
        "s_per_chunk": wall / chunks,
        "cpu_per_chunk": cpu / chunks,
        "of_it_decoding": counts.decode.seconds / wall,
        "prefilled_per_chunk": counts.prefilled / chunks,
        "room_tokens": capacity,
        "kv_mib": memory["KV"],
        "compute_mib": memory["compute"],
    }


def decode(session: Session, job: Job) -> Iterator[SequenceResult]:
    prefix, suffixes = job
    session.set_prefix(prefix)
    waiting = list(enumerate(suffixes))
    while waiting or session.busy:
        free = session.free
        if waiting and free:
            yield from session.admit(waiting[:free])
            waiting = waiting[free:]
        if session.busy:
            yield from session.step()


class Rival:
    """`llama_cpp.Llama`, greedy, on the same tokens."""

    def __init__(
        self, path: Path, jobs: list[Job], args: argparse.Namespace, *, flash: bool
    ) -> None:
        longest = max(len(prefix) + max(map(len, suffixes)) for prefix, suffixes in jobs)
        self._new = args.new
        self._llama = llama_cpp.Llama(
            str(path),
            n_ctx=-(-(longest + args.new) // 256) * 256,
            n_threads=args.threads,
            n_threads_batch=args.threads,
            flash_attn=flash,
            type_k=KV_TYPES[args.kv][0],
            type_v=KV_TYPES[args.kv][0],
            verbose=False,
        )

    def close(self) -> None:
        """Give the memory back."""
        self._llama.close()

    def forget(self) -> None:
        """Keep nothing of what was computed before."""
        self._llama.reset()

    def answer(self, prompt: Tokens, *, reuse: bool) -> tuple[Tokens, Clocks, int]:
        """Return the tokens, the time and how many tokens of the prompt were computed."""
        if not reuse:
            self.forget()
        kept = self._llama.input_ids[: self._llama.n_tokens].tolist()
        same = next(
            (i for i, (a, b) in enumerate(zip(kept, prompt, strict=False)) if a != b), len(kept)
        )
        begun = clocks()
        tokens = []
        for token in self._llama.generate(prompt, temp=0.0, top_k=1, repeat_penalty=1.0):
            if self._llama._model.token_eos() == token:
                break
            tokens.append(token)
            if len(tokens) == self._new:
                break
        wall, cpu = (now - then for now, then in zip(clocks(), begun, strict=True))
        return tokens, (wall, cpu), len(prompt) - same


def sequential(rival: Rival, jobs: list[Job]) -> tuple[list[list[Tokens]], dict[str, Any]]:
    answers, seconds, computed = [], [], 0
    rival.forget()
    for prefix, suffixes in jobs:
        found = [rival.answer(prefix + suffix, reuse=True) for suffix in suffixes]
        answers.append([tokens for tokens, _, _ in found])
        seconds += [s for _, s, _ in found]
        computed += sum(n for _, _, n in found)
    return answers, {
        "s_per_chunk": statistics.mean(wall for wall, _ in seconds),
        "cpu_per_chunk": statistics.mean(cpu for _, cpu in seconds),
        "prefilled_per_chunk": computed / len(seconds),
    }


def full(
    rival: Rival, jobs: list[Job], *, sample: int
) -> tuple[dict[tuple[int, int], Tokens], dict[str, Any]]:
    everything = [(d, c) for d, (_, suffixes) in enumerate(jobs) for c in range(len(suffixes))]
    chosen = everything[:: max(1, len(everything) // sample)][:sample]
    answers, seconds, computed = {}, [], 0
    for d, c in chosen:
        prompt = jobs[d][0] + jobs[d][1][c]
        answers[d, c], spent, n = rival.answer(prompt, reuse=False)
        seconds.append(spent)
        computed += n
    return answers, {
        "s_per_chunk": statistics.median(wall for wall, _ in seconds),
        "cpu_per_chunk": statistics.median(cpu for _, cpu in seconds),
        "prefilled_per_chunk": computed / len(seconds),
        "sampled": len(seconds),
    }


def clocks() -> Clocks:
    """Wall clock and processor time, in seconds."""
    return time.perf_counter(), time.process_time()


def buffers(log: NativeLog) -> dict[str, float]:
    """MiB of the buffers of each kind that llama.cpp told of since the log was cleared."""
    found = {"KV": 0.0, "compute": 0.0}
    for line in log.lines:
        if said := re.search(r"(KV|compute) buffer size = +([\d.]+) MiB", line):
            found[said[1]] += float(said[2])
    if not all(found.values()):
        raise SystemExit("contexts: llama.cpp does not tell its buffers' sizes any more")
    return found


def same(one: list[list[Tokens]], other: list[list[Tokens]]) -> str:
    pairs = [pair for a, b in zip(one, other, strict=True) for pair in zip(a, b, strict=True)]
    return f"{sum(a == b for a, b in pairs)}/{len(pairs)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="eight documents")
    parser.add_argument("--chunks", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--places", type=int, default=8)
    parser.add_argument("--sample", type=int, default=4)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--model", type=Path, help="a GGUF file instead of random weights")
    parser.add_argument("--exact", action="store_true", help="F32 throughout")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.kv = "f32" if args.exact else "f16"
    args.documents = 8 if args.full else args.documents
    kinds = gguf.GGMLQuantizationType
    with tempfile.TemporaryDirectory() as folder:
        path = args.model or tiny_gguf.random_model(
            Path(folder) / "135m.gguf",
            tiny_gguf.SHAPES["smollm2-135m"],
            kind=kinds.F32 if args.exact else kinds.Q8_0,
        )
        report(measure(path, args), as_json=args.json)


def measure(path: Path, args: argparse.Namespace) -> dict[str, Any]:
    log = NativeLog()
    # What is told of the buffers is followed by more lines than are kept otherwise.
    log.lines = collections.deque(maxlen=4096)
    model = LlamaModel(
        str(path), gpu_layers=-1, extra_buffers=True, log=log, heartbeat=lambda: None
    )
    jobs = documents(model, args)
    rows: dict[str, dict[str, Any]] = {}

    def done(name: str, row: dict[str, Any]) -> None:
        rows[name] = row
        print(name, row, file=sys.stderr, flush=True)

    batched, row = shared(model, jobs, args, slots=args.places, log=log)
    done(f"shared, {args.places} together", row)
    equal: dict[str, str] = {}
    for kernel, flash in (("flash", True), ("as it comes", False)):
        rival = Rival(path, jobs, args, flash=flash)
        whole, row = full(rival, jobs, sample=args.sample)
        done(f"full, {kernel}", row)
        ours = [[batched[d][c] for d, c in whole]]
        equal[f"full, {kernel}"] = same(ours, [list(whole.values())])
        reused, row = sequential(rival, jobs)
        done(f"sequential, {kernel}", row)
        equal[f"sequential, {kernel}"] = same(batched, reused)
        rival.close()
    # One at a time on some chunks of one document: for the memory it takes and the same tokens.
    few = [(jobs[0][0], jobs[0][1][: args.sample])]
    single, row = shared(model, few, args, slots=1, log=log)
    done("shared, 1 at a time", row)
    return {
        "rows": rows,
        "same": {"1 at a time": same([batched[0][: args.sample]], single), **equal},
        "machine": f"{args.threads} threads; {llama_cpp.llama_print_system_info().decode()}",
        "prompt": {"prefix": len(jobs[0][0]), "suffix": len(jobs[0][1][0]), "new": args.new},
    }


def report(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(found))
        return
    best = next(iter(found["rows"].values()))
    print(f"{'':24} {'s/chunk':>8} {'x':>6} {'cpu s/chunk':>12} {'x':>6} {'prefilled/chunk':>16}")
    for name, row in found["rows"].items():
        wall, cpu = (row[key] / best[key] for key in ("s_per_chunk", "cpu_per_chunk"))
        print(
            f"{name:24} {row['s_per_chunk']:8.2f} {wall:6.2f} {row['cpu_per_chunk']:12.2f}"
            f" {cpu:6.2f} {row['prefilled_per_chunk']:16.0f}"
        )
        if "kv_mib" in row:
            print(
                f"{'':24} decoding {row['of_it_decoding']:.0%}; keys and values"
                f" {row['kv_mib']:.1f} MiB for {row['room_tokens']} tokens; computing"
                f" {row['compute_mib']:.1f} MiB"
            )
    for name, count in found["same"].items():
        print(f"identical to {name}: {count}")
    print(found["prompt"], found["machine"])


if __name__ == "__main__":
    main()
