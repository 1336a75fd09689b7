"""Time of a context by a local model: whole prompts, prefix reuse, shared batches and groups.

Corpus: one document of 4,000 tokens (eight with `--full`) in ten chunks of 400, 64 new tokens for
each context. Model: the shape of SmolLM2-135M with random weights, in Q8_0 or another type, on the
CPU; what the weights are does not change the speed.

full        `llama_cpp.Llama`; the whole prompt is computed for every chunk
sequential  `llama_cpp.Llama`, which reuses the document between chunks by its prefix match
shared      crx; the document is computed once and its chunks are decoded together
groups      crx with `prompt=window`; a digest of the document, then three chunks a prompt

All run in one process with the same prompts (as tokens) and threads; `Llama` runs with flash
attention, as in crx, and without, its default. `full` is slow and measured on a sample of the
chunks, spread over the documents; with `--others`, all but `groups` are measured on the first of
the documents alone. Seconds are of a median chunk for `full` and of a mean chunk otherwise, as
wall-clock and CPU time. On a busy machine only CPU time with one thread is comparable, because
waiting threads spin. Prefilled tokens are the computed tokens of prompts, including the
document's, without padding; each run starts with nothing in memory. Memory is what llama.cpp logs
for keys, values and computation.

    python benches/contexts.py [--full] [--weights Q8_0|BF16|F16|F32] [--exact] [--slots 8]
        [--others N] [--sample 4] [--threads 1] [--json]

`--exact` uses F32 weights, keys and values, for which rounding changes the outputs least. With Q8_0
and random weights, whose outputs are about equally likely, rounding often changes a token.
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

from crx._services.compute_usage import ComputeUsage  # noqa: E402
from crx_contexts.chunk_groups import TOKENS_PER_GROUP  # noqa: E402
from crx_runtimes.llama.model import KV_TYPES, LlamaModel, NativeLog  # noqa: E402
from crx_runtimes.llama.session import SequenceResult, Session  # noqa: E402

# Tokens of the template before the document and after the chunk, and of a document's opening.
BEFORE, AFTER, OPENING = 25, 50, 750

Tokens = list[int]
Job = tuple[Tokens, list[Tokens]]
Clocks = tuple[float, float]


def make_jobs(model: LlamaModel, args: argparse.Namespace) -> list[Job]:
    """Return, for each document, the prefix and the suffixes of its prompts as random tokens.

    As in the default prompt, the template has about 25 tokens before the document and 50 after the
    chunk.
    """
    rng = random.Random(5)

    def tokens(n: int) -> Tokens:
        return [rng.randrange(1000, model.n_vocab) for _ in range(n)]

    jobs = []
    before, after = tokens(BEFORE), tokens(AFTER)
    for _ in range(args.documents):
        text = tokens(args.tokens)
        cuts = [i * len(text) // args.chunks for i in range(args.chunks + 1)]
        chunks = [text[a:b] for a, b in itertools.pairwise(cuts)]
        jobs.append((before + text, [chunk + after for chunk in chunks]))
    return jobs


def run_shared(
    model: LlamaModel,
    jobs: list[Job],
    args: argparse.Namespace,
    *,
    slots: int,
    log: NativeLog,
) -> tuple[list[list[Tokens]], dict[str, Any]]:
    """Decode all chunks with a session of crx; return the answers and the measurements."""
    counts = ComputeUsage()
    capacity = max(
        len(prefix) + slots * (max(map(len, suffixes)) + args.new) for prefix, suffixes in jobs
    )
    log.lines.clear()
    started = clocks()
    session = Session(
        model,
        capacity=capacity,
        slots=slots,
        kv=args.kv,
        threads=args.threads,
        max_tokens=args.new,
        counts=counts,
        shares=True,
        separate=False,
        heartbeat=lambda: None,
    )
    memory = buffers(log)
    answers = [sorted(decode(session, job), key=lambda a: a.number) for job in jobs]
    wall, cpu = (now - then for now, then in zip(clocks(), started, strict=True))
    session.close()
    chunks = sum(len(suffixes) for _, suffixes in jobs)
    return [[list(a.tokens) for a in found] for found in answers], {
        "s_per_chunk": wall / chunks,
        "cpu_per_chunk": cpu / chunks,
        "decoding_share": counts.decode.seconds / wall,
        "prefilled_per_chunk": counts.prefilled / chunks,
        "capacity_tokens": capacity,
        "kv_mib": memory["KV"],
        "compute_mib": memory["compute"],
    }


def run_groups(
    model: LlamaModel, jobs: list[Job], args: argparse.Namespace, *, slots: int
) -> dict[str, Any]:
    """Decode a digest a document and a line a chunk, as with `prompt=window`.

    The documents are read side by side: first their digests, then their groups. Answers of
    different lengths take a session each.
    """
    counts = ComputeUsage()
    started = clocks()
    for prompts, new in make_group_prompts(jobs, new=args.new):
        session = Session(
            model,
            capacity=-(-(max(map(len, prompts)) + new) // 256) * 256,
            slots=slots,
            kv=args.kv,
            threads=args.threads,
            max_tokens=new,
            counts=counts,
            shares=True,
            separate=True,
            heartbeat=lambda: None,
        )
        collections.deque(decode(session, ([], prompts)), maxlen=0)
        session.close()
    wall, cpu = (now - then for now, then in zip(clocks(), started, strict=True))
    chunks = sum(len(suffixes) for _, suffixes in jobs)
    return {
        "s_per_chunk": wall / chunks,
        "cpu_per_chunk": cpu / chunks,
        "decoding_share": counts.decode.seconds / wall,
        "prefilled_per_chunk": counts.prefilled / chunks,
    }


def make_group_prompts(jobs: list[Job], *, new: int) -> list[tuple[list[Tokens], int]]:
    """Return the prompts of digests, and those of groups by length, with their new tokens."""
    digests: list[Tokens] = []
    groups: dict[int, list[Tokens]] = collections.defaultdict(list)
    for prefix, suffixes in jobs:
        before, after = prefix[:BEFORE], suffixes[0][-AFTER:]
        digests.append(before + prefix[BEFORE : BEFORE + OPENING] + after)
        chunks = [suffix[:-AFTER] for suffix in suffixes]
        size = max(1, TOKENS_PER_GROUP // max(map(len, chunks)))
        for i in range(0, len(chunks), size):
            group = chunks[i : i + size]
            text = [*itertools.chain(*group), *after]
            groups[len(group)].append(before + prefix[-new:] + text)
    return [(digests, new), *((groups[n], new * n) for n in sorted(groups))]


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
    """`llama_cpp.Llama` with greedy decoding on the same tokens."""

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
        """Release the memory."""
        self._llama.close()

    def reset(self) -> None:
        """Drop what was computed before."""
        self._llama.reset()

    def answer(self, prompt: Tokens, *, reuse: bool) -> tuple[Tokens, Clocks, int]:
        """Return the tokens, the times, and how many tokens of the prompt were computed."""
        if not reuse:
            self.reset()
        kept = self._llama.input_ids[: self._llama.n_tokens].tolist()
        same = next(
            (i for i, (a, b) in enumerate(zip(kept, prompt, strict=False)) if a != b), len(kept)
        )
        started = clocks()
        tokens = []
        for token in self._llama.generate(prompt, temp=0.0, top_k=1, repeat_penalty=1.0):
            if self._llama._model.token_eos() == token:
                break
            tokens.append(token)
            if len(tokens) == self._new:
                break
        wall, cpu = (now - then for now, then in zip(clocks(), started, strict=True))
        return tokens, (wall, cpu), len(prompt) - same


def run_sequential(rival: Rival, jobs: list[Job]) -> tuple[list[list[Tokens]], dict[str, Any]]:
    answers, seconds, computed = [], [], 0
    rival.reset()
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


def run_full(
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
    """Return wall-clock time and CPU time in seconds."""
    return time.perf_counter(), time.process_time()


def buffers(log: NativeLog) -> dict[str, float]:
    """Return the MiB of each kind of buffer that llama.cpp logged since the log was cleared."""
    found = {"KV": 0.0, "compute": 0.0}
    for line in log.lines:
        if match := re.search(r"(KV|compute) buffer size = +([\d.]+) MiB", line):
            found[match[1]] += float(match[2])
    if not all(found.values()):
        raise SystemExit("contexts: llama.cpp does not log the sizes of its buffers")
    return found


def count_equal(one: list[list[Tokens]], other: list[list[Tokens]]) -> str:
    pairs = [pair for a, b in zip(one, other, strict=True) for pair in zip(a, b, strict=True)]
    return f"{sum(a == b for a, b in pairs)}/{len(pairs)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="eight documents")
    parser.add_argument("--chunks", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--others", type=int, help="documents for all but groups; default: all")
    parser.add_argument("--sample", type=int, default=4)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--model", type=Path, help="a GGUF file instead of random weights")
    parser.add_argument("--weights", choices=["Q8_0", "BF16", "F16", "F32"], default="Q8_0")
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
            kind=kinds.F32 if args.exact else kinds[args.weights],
        )
        report(measure(path, args), as_json=args.json)


def measure(path: Path, args: argparse.Namespace) -> dict[str, Any]:
    log = NativeLog()
    # The lines about buffers are followed by more lines than the log keeps by default.
    log.lines = collections.deque(maxlen=4096)
    model = LlamaModel(
        str(path), gpu_layers=-1, extra_buffers=True, log=log, heartbeat=lambda: None
    )
    jobs = make_jobs(model, args)
    rows: dict[str, dict[str, Any]] = {}

    def done(name: str, row: dict[str, Any]) -> None:
        rows[name] = row
        print(name, row, file=sys.stderr, flush=True)

    done("groups", run_groups(model, jobs, args, slots=args.slots))
    jobs = jobs[: args.others]
    batched, row = run_shared(model, jobs, args, slots=args.slots, log=log)
    done(f"shared, {args.slots} together", row)
    equal: dict[str, str] = {}
    for kernel, flash in (("flash", True), ("default", False)):
        rival = Rival(path, jobs, args, flash=flash)
        whole, row = run_full(rival, jobs, sample=args.sample)
        done(f"full, {kernel}", row)
        ours = [[batched[d][c] for d, c in whole]]
        equal[f"full, {kernel}"] = count_equal(ours, [list(whole.values())])
        reused, row = run_sequential(rival, jobs)
        done(f"sequential, {kernel}", row)
        equal[f"sequential, {kernel}"] = count_equal(batched, reused)
        rival.close()
    # One slot, on some chunks of one document, to compare memory and tokens.
    few = [(jobs[0][0], jobs[0][1][: args.sample])]
    single, row = run_shared(model, few, args, slots=1, log=log)
    done("shared, 1 at a time", row)
    return {
        "rows": rows,
        "same": {"1 at a time": count_equal([batched[0][: args.sample]], single), **equal},
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
                f"{'':24} decoding {row['decoding_share']:.0%}; keys and values"
                f" {row['kv_mib']:.1f} MiB for {row['capacity_tokens']} tokens; computing"
                f" {row['compute_mib']:.1f} MiB"
            )
    for name, count in found["same"].items():
        print(f"identical to {name}: {count}")
    print(found["prompt"], found["machine"])


if __name__ == "__main__":
    main()
