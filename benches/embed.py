"""Speed of embedding chunks: the embedders of crx, and sentence-transformers beside them.

Corpus: chunks of natural length cut at blank lines from the sources of Python's standard library,
about 200 tokens each. The contestants run in turns, each in a process of its own with the same
number of threads. The table shows medians of the rounds, ratios within this run (of wall-clock time
and of CPU time, which is less affected by other load) to the first contestant, and cosines to the
vectors of sentence-transformers or, without it, of the same model in single precision.

    python benches/embed.py --only minilm minilm@int8 e5 e5@int8
    python benches/embed.py --folder FOLDER --texts 5000 --rounds 3

FOLDER is the sentence-transformers folder of the model that is installed as `minilm` and
`minilm@int8`. `--st-python` and `--openvino-python` name interpreters with those packages, if this
one does not have them.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import random
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from harness import Seconds, medians, processor, run_contestant, time_call

RIVAL = "sentence-transformers"


def main() -> None:
    parser = argparse.ArgumentParser(description="embed chunks with every backend")
    parser.add_argument("--folder", type=Path, help="run sentence-transformers with this model")
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--st-python", default=sys.executable)
    parser.add_argument("--openvino-python", default=sys.executable)
    parser.add_argument("--only", nargs="*", help="embedders of crx to run")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        run_one(arguments)
    else:
        compare(arguments)


def compare(arguments: argparse.Namespace) -> None:
    """Run every contestant in turns and print the table."""
    specs = arguments.only or ["minilm", "minilm@int8", "openvino:minilm"]
    if has_amx() and not arguments.only:
        specs.append("openvino:minilm:arithmetic=bf16")
    contestants = {RIVAL: arguments.st_python} if arguments.folder else {}
    for spec in specs:
        openvino = spec.startswith("openvino:")
        contestants[spec] = arguments.openvino_python if openvino else sys.executable
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = list(islice(chunks(), arguments.texts))
        (folder / "texts.json").write_text(json.dumps(texts))
        seconds: dict[str, list[Seconds]] = {name: [] for name in contestants}
        for _ in range(arguments.rounds):
            for spec, python in contestants.items():
                seconds[spec].append(start(arguments, spec, python, folder))
        print(table(seconds, folder, len(texts), arguments.threads))


def start(arguments: argparse.Namespace, spec: str, python: str, folder: Path) -> Seconds:
    """Run one contestant in a process of its own; return its seconds."""
    threads = str(arguments.threads)
    options = ["--run", spec, "--scratch", str(folder), "--threads", threads]
    if arguments.folder:
        options += ["--folder", str(arguments.folder)]
    return run_contestant(
        [python, __file__, *options],
        {"CRX_THREADS": threads, "RAYON_NUM_THREADS": threads},
    )


def run_one(arguments: argparse.Namespace) -> None:
    """Load, warm up and embed; write the vectors to the scratch folder and print the seconds."""
    texts = json.loads((arguments.scratch / "texts.json").read_text())
    if arguments.run == RIVAL:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(arguments.threads)
        model = SentenceTransformer(str(arguments.folder), device="cpu", local_files_only=True)

        def embed(texts: list[str]) -> np.ndarray:
            return model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    else:
        from crx.registry import load_embedder

        embed = load_embedder(arguments.run).embed
    embed(texts[:32])
    vectors: list[np.ndarray] = []
    seconds = time_call(lambda: vectors.append(embed(texts)))
    np.save(arguments.scratch / f"{arguments.run.replace(':', '-')}.npy", vectors[0])
    print(*seconds)


def table(seconds: dict[str, list[Seconds]], folder: Path, count: int, threads: int) -> str:
    """Return the Markdown table of the medians."""
    first = next(iter(seconds))
    first_wall, first_cpu = medians(seconds[first])
    lines = [
        f"{count} chunks, {threads} threads, {len(seconds[first])} rounds, "
        f"{processor()}, Python {platform.python_version()}",
        "",
        "| embedder | seconds (least to most) | chunks/s | ratio | ratio of CPU time "
        "| lowest cosine | mean cosine |",
        "|---|---|---|---|---|---|---|",
    ]
    for spec, times in seconds.items():
        middle, cpu = medians(times)
        walls = [wall for wall, _ in times]
        compared = load_vectors(folder, compared_with(spec, seconds))
        cosines = (load_vectors(folder, spec) * compared).sum(axis=1)
        lines.append(
            f"| {spec} | {middle:.1f} ({min(walls):.1f} to {max(walls):.1f}) | {count / middle:.1f}"
            f" | {first_wall / middle:.2f} | {first_cpu / cpu:.2f}"
            f" | {cosines.min():.7f} | {cosines.mean():.7f} |"
        )
    return "\n".join(lines)


def compared_with(spec: str, run: Collection[str]) -> str:
    """Return the contestant whose vectors those of another should equal."""
    if "minilm" in spec and RIVAL in run:
        return RIVAL
    single = spec.removesuffix("@int8")
    return single if single in run else spec


def load_vectors(folder: Path, spec: str) -> np.ndarray:
    """Return the vectors that a contestant has written."""
    return np.load(folder / f"{spec.replace(':', '-')}.npy")


def chunks() -> Iterator[str]:
    """Yield chunks of the standard library's sources in a fixed random order."""
    numbers = random.Random(1)
    paths = sorted(Path(sysconfig.get_path("stdlib")).glob("*/*.py"))
    numbers.shuffle(paths)
    for path in paths:
        if "site-packages" in path.parts or "idle_test" in path.parts:
            continue
        chunk, size = "", length(numbers)
        for paragraph in path.read_text(encoding="utf-8", errors="replace").split("\n\n"):
            chunk += paragraph + "\n\n"
            if len(chunk) >= size:
                yield chunk.strip()
                chunk, size = "", length(numbers)


def length(numbers: random.Random) -> float:
    """Draw the minimum length of a chunk in code points."""
    return numbers.lognormvariate(math.log(300), 0.7)


def has_amx() -> bool:
    """Return whether the CPU multiplies matrices in bfloat16."""
    info = Path("/proc/cpuinfo")
    return info.exists() and "amx_bf16" in info.read_text()


if __name__ == "__main__":
    main()
