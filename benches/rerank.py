"""How fast are candidates reranked? crx against sentence-transformers, same weights, same texts.

A query and its candidates, each cut to one number of tokens, from the sources of Python's standard
library. Every contestant runs in a process of its own, on the same number of threads, in turns. The
table shows medians of the rounds, ratios within this one run (of time on the wall and, for a
machine that others use too, of CPU time), and Kendall's tau (b) of the order against that of
sentence-transformers.

    python benches/rerank.py FOLDER --candidates 150 --tokens 256 --rounds 3

FOLDER is a cross-encoder as transformers saves one, with weights in safetensors; it is converted
into a temporary store, in both precisions. `--st-python` names an interpreter that has
sentence-transformers, where this one has not. OpenVINO in bfloat16 is worth a contest only on a CPU
with AMX, and crx has no reranker on it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

RIVAL = "sentence-transformers"
QUERY = "how is a socket closed when its connection times out?"
Seconds = tuple[float, float]


def main() -> None:
    parser = argparse.ArgumentParser(description="rerank candidates with every backend")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--candidates", type=int, default=150)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--st-python", default=sys.executable)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        run_one(arguments)
    else:
        compare(arguments)


def compare(arguments: argparse.Namespace) -> None:
    """Convert the model, run every contestant in turns and print the table."""
    from crx.models import add

    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        add(arguments.folder, name="bench", into=place)
        add(arguments.folder, name="bench", precision="int8", into=place)
        texts = candidates(place / "bench" / "tokenizer.json", arguments)
        (place / "texts.json").write_text(json.dumps(texts))
        contestants = {RIVAL: arguments.st_python}
        contestants |= dict.fromkeys(("bench", "bench@int8"), sys.executable)
        seconds: dict[str, list[Seconds]] = {name: [] for name in contestants}
        for _ in range(arguments.rounds):
            for spec, python in contestants.items():
                seconds[spec].append(start(arguments, spec, python, place))
        print(table(seconds, place, arguments))


def candidates(tokenizer: Path, arguments: argparse.Namespace) -> list[str]:
    """Return texts that make pairs of so many tokens, cut one after the other from the sources."""
    from crx.models.cross_encoder import PairEncoder
    from crx.models.tokenizer import Tokens

    wide = arguments.tokens * 4
    tokens = Tokens(tokenizer, sequence=wide)
    (frame,) = PairEncoder(tokenizer, sequence=wide).windows(QUERY, [""])[0]
    size = arguments.tokens - len(frame.ids)
    texts: list[str] = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("[a-t]*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")[:20_000]
        starts = tokens.starts(text)[::size].tolist()
        texts += [text[a:b] for a, b in pairwise(starts)]
        if len(texts) >= arguments.candidates:
            return texts[: arguments.candidates]
    raise SystemExit(f"the standard library has {len(texts)} candidates; ask for fewer")


def start(arguments: argparse.Namespace, spec: str, python: str, place: Path) -> Seconds:
    """Run one contestant in a process of its own; returns its seconds on the wall and of CPU."""
    options = ["--run", spec, "--place", str(place), "--threads", str(arguments.threads)]
    command = [python, __file__, str(arguments.folder), *options]
    threads = str(arguments.threads)
    environment = {**os.environ, "CRX_THREADS": threads, "CRX_MODELS": str(place)}
    run = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE)
    wall, cpu = run.stdout.split()[-2:]
    return float(wall), float(cpu)


def run_one(arguments: argparse.Namespace) -> None:
    """Load, warm up, score; leave the scores in the place and print the seconds."""
    texts = json.loads((arguments.place / "texts.json").read_text())
    if arguments.run == RIVAL:
        import torch
        from sentence_transformers import CrossEncoder

        torch.set_num_threads(arguments.threads)
        model = CrossEncoder(str(arguments.folder), device="cpu", local_files_only=True)

        def score(texts: list[str]) -> np.ndarray:
            return model.predict([(QUERY, text) for text in texts], show_progress_bar=False)
    else:
        from crx.registry import load_reranker

        reranker = load_reranker(arguments.run)

        def score(texts: list[str]) -> np.ndarray:
            return reranker.score(QUERY, texts)

    score(texts[:4])
    begun, used = time.perf_counter(), time.process_time()
    scores = score(texts)
    taken = (time.perf_counter() - begun, time.process_time() - used)
    np.save(arguments.place / f"{arguments.run}.npy", scores)
    print(*taken)


def table(seconds: dict[str, list[Seconds]], place: Path, arguments: argparse.Namespace) -> str:
    """Return the Markdown table of the medians."""
    wanted = np.load(place / f"{RIVAL}.npy")
    rival, rival_cpu = medians(seconds[RIVAL])
    lines = [
        f"{len(wanted)} candidates of {arguments.tokens} tokens, {arguments.threads} threads, "
        f"{len(seconds[RIVAL])} rounds, {processor()}, Python {platform.python_version()}",
        "",
        "| reranker | seconds (least to most) | ratio | ratio of CPU time | Kendall's tau |",
        "|---|---|---|---|---|",
    ]
    for spec, taken in seconds.items():
        middle, cpu = medians(taken)
        walls = [wall for wall, _ in taken]
        tau = kendall(np.load(place / f"{spec}.npy"), wanted)
        lines.append(
            f"| {spec} | {middle:.2f} ({min(walls):.2f} to {max(walls):.2f})"
            f" | {rival / middle:.2f} | {rival_cpu / cpu:.2f} | {tau:.4f} |"
        )
    return "\n".join(lines)


def kendall(a: np.ndarray, b: np.ndarray) -> float:
    """Return Kendall's tau-b (1945): 1 where both order all pairs alike, ties taken off."""
    signs = [np.sign(np.subtract.outer(each, each)) for each in (a, b)]
    ordered = [float(np.abs(sign).sum()) for sign in signs]
    return float((signs[0] * signs[1]).sum()) / (ordered[0] * ordered[1]) ** 0.5


def medians(taken: list[Seconds]) -> Seconds:
    """Return the medians of the seconds on the wall and of CPU."""
    return statistics.median(w for w, _ in taken), statistics.median(c for _, c in taken)


def processor() -> str:
    """Return the CPU's name."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


if __name__ == "__main__":
    main()
