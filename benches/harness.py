"""Shared parts of the benchmarks: contestants in processes of their own, medians, results."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from crx._models.processor import detect_processor

# Seconds of wall-clock time and of CPU time.
Seconds = tuple[float, float]

# The modules of an installed package are compiled. With this variable, each process that a
# benchmark starts would compile those of a working tree again, which takes a tenth of a second.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def run_contestant(command: Sequence[str], environment: Mapping[str, str]) -> Seconds:
    """Run a benchmark in a process of its own that prints its seconds last, and return them."""
    run = subprocess.run(
        command, check=True, env={**os.environ, **environment}, stdout=subprocess.PIPE
    )
    wall, cpu = run.stdout.split()[-2:]
    return float(wall), float(cpu)


def time_call(call: Callable[[], object]) -> Seconds:
    """Return the seconds that a call takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def medians(seconds: Sequence[Seconds]) -> Seconds:
    """Return the median of the wall-clock times and of the CPU times."""
    return statistics.median(w for w, _ in seconds), statistics.median(c for _, c in seconds)


def run_ripgrep(*arguments: str, folder: Path) -> str:
    """Return what ripgrep prints in a folder; an error of it ends the benchmark."""
    try:
        done = subprocess.run(["rg", *arguments], cwd=folder, capture_output=True, check=False)
    except FileNotFoundError:
        raise SystemExit("rg: not found; install ripgrep") from None
    # 1: no line matches.
    if done.returncode not in (0, 1):
        raise SystemExit(f"rg: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode(errors="replace")


def processor() -> str:
    """Return the name of the CPU, its cores and its instruction sets."""
    return str(detect_processor())


def commit() -> str:
    """Return the short hash of the repository's commit."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def write_results(file: str, *, benchmark: str, rounds: int, figures: Mapping[str, object]) -> None:
    """Write the figures of a run as JSON, with the machine and the commit."""
    results = {
        "benchmark": benchmark,
        "processor": processor(),
        "cores": os.cpu_count(),
        # How many other processes wanted a core while it ran.
        "load": round(os.getloadavg()[0], 1),
        "commit": commit(),
        "rounds": rounds,
        "figures": figures,
    }
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
