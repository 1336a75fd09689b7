"""Speed of reranking: crx against sentence-transformers with the same weights and texts.

Corpus: a query and candidates from the sources of Python's standard library, all of the same number
of tokens. The contestants run in turns, each in a process of its own with the same number of
threads. The table shows medians of the rounds, ratios within this run (of wall-clock time and of
CPU time, which is less affected by other load), and Kendall's tau-b between the order and that of
sentence-transformers.

    python benches/rerank.py FOLDER --candidates 150 --tokens 256 --rounds 3

FOLDER is a cross-encoder as transformers saves one, with weights in safetensors; it is converted
into a temporary folder in both precisions. `--st-python` names an interpreter with
sentence-transformers, if this one does not have it. OpenVINO is left out, because crx has no
reranker on it.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import sysconfig
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
from harness import Seconds, medians, processor, run_contestant, time_call

RIVAL = "sentence-transformers"
QUERY = "how is a socket closed when its connection times out?"


def main() -> None:
    parser = argparse.ArgumentParser(description="rerank candidates with every backend")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--candidates", type=int, default=150)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--st-python", default=sys.executable)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        run_one(arguments)
    else:
        compare(arguments)


def compare(arguments: argparse.Namespace) -> None:
    """Convert the model, run every contestant in turns and print the table."""
    from crx._models.store import add_model

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        add_model(arguments.folder, name="bench", into=folder)
        add_model(arguments.folder, name="bench", precision="int8", into=folder)
        texts = candidates(folder / "bench" / "tokenizer.json", arguments)
        (folder / "texts.json").write_text(json.dumps(texts))
        contestants = {RIVAL: arguments.st_python}
        contestants |= dict.fromkeys(("bench", "bench@int8"), sys.executable)
        seconds: dict[str, list[Seconds]] = {name: [] for name in contestants}
        for _ in range(arguments.rounds):
            for spec, python in contestants.items():
                seconds[spec].append(start(arguments, spec, python, folder))
        print(table(seconds, folder, arguments))


def candidates(tokenizer: Path, arguments: argparse.Namespace) -> list[str]:
    """Return adjacent texts of the sources whose pairs with the query have `--tokens` tokens."""
    from crx._models.cross_encoder import PairEncoder
    from crx._models.tokenizer import ModelTokenizer

    wide = arguments.tokens * 4
    tokens = ModelTokenizer(tokenizer, sequence=wide)
    (empty_pair,) = PairEncoder(tokenizer, sequence=wide).encode_windows(QUERY, [""])[0]
    size = arguments.tokens - len(empty_pair.ids)
    texts: list[str] = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("[a-t]*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")[:20_000]
        starts = tokens.token_starts(text)[::size].tolist()
        texts += [text[a:b] for a, b in pairwise(starts)]
        if len(texts) >= arguments.candidates:
            return texts[: arguments.candidates]
    raise SystemExit(f"the standard library has {len(texts)} candidates; ask for fewer")


def start(arguments: argparse.Namespace, spec: str, python: str, folder: Path) -> Seconds:
    """Run one contestant in a process of its own; return its seconds."""
    threads = str(arguments.threads)
    options = ["--run", spec, "--scratch", str(folder), "--threads", threads]
    return run_contestant(
        [python, __file__, str(arguments.folder), *options],
        {"CRX_THREADS": threads, "CRX_MODELS": str(folder)},
    )


def run_one(arguments: argparse.Namespace) -> None:
    """Load, warm up and score; write the scores to the scratch folder and print the seconds."""
    texts = json.loads((arguments.scratch / "texts.json").read_text())
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
    scores: list[np.ndarray] = []
    seconds = time_call(lambda: scores.append(score(texts)))
    np.save(arguments.scratch / f"{arguments.run}.npy", scores[0])
    print(*seconds)


def table(seconds: dict[str, list[Seconds]], folder: Path, arguments: argparse.Namespace) -> str:
    """Return the Markdown table of the medians."""
    wanted = np.load(folder / f"{RIVAL}.npy")
    rival, rival_cpu = medians(seconds[RIVAL])
    lines = [
        f"{len(wanted)} candidates of {arguments.tokens} tokens, {arguments.threads} threads, "
        f"{len(seconds[RIVAL])} rounds, {processor()}, Python {platform.python_version()}",
        "",
        "| reranker | seconds (least to most) | ratio | ratio of CPU time | Kendall's tau |",
        "|---|---|---|---|---|",
    ]
    for spec, times in seconds.items():
        middle, cpu = medians(times)
        walls = [wall for wall, _ in times]
        tau = kendall(np.load(folder / f"{spec}.npy"), wanted)
        lines.append(
            f"| {spec} | {middle:.2f} ({min(walls):.2f} to {max(walls):.2f})"
            f" | {rival / middle:.2f} | {rival_cpu / cpu:.2f} | {tau:.4f} |"
        )
    return "\n".join(lines)


def kendall(a: np.ndarray, b: np.ndarray) -> float:
    """Return Kendall's tau-b (1945): 1 if both have the same order; ties are corrected for."""
    signs = [np.sign(np.subtract.outer(each, each)) for each in (a, b)]
    ordered = [float(np.abs(sign).sum()) for sign in signs]
    return float((signs[0] * signs[1]).sum()) / (ordered[0] * ordered[1]) ** 0.5


if __name__ == "__main__":
    main()
