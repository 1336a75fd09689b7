"""The first answer by words over a folder of real files, against recoll and a script of FTS5.

    apt install recollcmd
    python benches/first_answer.py FOLDER [--files 100 1000 10000] [--query WORDS]

FOLDER is any folder of documents and sources; of its files as many as wanted are taken, spread
evenly over the sorted paths, and copied to a folder of their own. Each engine then starts without
an index, in new processes: it indexes the folder and answers one query. `crx` has no embedder and
is otherwise as it comes. recoll is `recollindex` and `recollq` with a new configuration. The script
puts the bytes of each file, decoded as UTF-8, into SQLite's FTS5, one row a file: no formats, no
chunks. The seconds of the processor are those of all processes and threads, the wall seconds those
of the whole. Engines take turns; the least of the rounds counts.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from harness import Seconds, commit, processor

_FTS5 = """
import sqlite3, sys
from pathlib import Path
folder, index, query = sys.argv[1:]
database = sqlite3.connect(index)
database.execute("CREATE VIRTUAL TABLE file USING fts5(path, body, tokenize='porter')")
paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
database.executemany(
    "INSERT INTO file VALUES (?, ?)",
    ((str(path), path.read_bytes().decode(errors="replace")) for path in paths),
)
database.commit()
words = " OR ".join(f'"{word}"' for word in query.split())
ranked = "SELECT path FROM file WHERE file MATCH ? ORDER BY rank LIMIT 5"
print(*(path for (path,) in database.execute(ranked, (words,))), sep="\\n")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--query", default="how is a file opened")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{processor()}, {commit()}\n")
    print("| files | MB | engine | CPU seconds | seconds |\n|---|---|---|---|---|")
    paths = sorted(path for path in options.folder.rglob("*") if _is_document(path))
    for count in options.files:
        if count <= len(paths):
            chosen = [paths[number * len(paths) // count] for number in range(count)]
            _compare(chosen, query=options.query, rounds=options.rounds)


def _compare(paths: Sequence[Path], *, query: str, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "files"
        size = _copy(paths, folder) / 1e6
        runs: dict[str, list[Seconds]] = {}
        for _ in range(rounds):
            for engine, commands in _engines(folder, Path(made), query).items():
                runs.setdefault(engine, []).append(_run(commands))
    for engine, each in runs.items():
        wall, cpu = map(min, zip(*each, strict=True))
        print(f"| {len(paths):,} | {size:.1f} | {engine} | {cpu:.2f} | {wall:.2f} |", flush=True)


def _engines(folder: Path, made: Path, query: str) -> dict[str, list[list[str]]]:
    """Return the commands of each engine that is installed; none has an index."""
    crx, recoll, script = made / "crx", made / "recoll", made / "fts5.db"
    for path in (crx, recoll):
        shutil.rmtree(path, ignore_errors=True)
    script.unlink(missing_ok=True)
    run_crx = [sys.executable, "-m", "crx"]
    engines = {
        "crx": [
            [*run_crx, "index", "-q", "--embedder", "none", "--index", str(crx), str(folder)],
            [*run_crx, "search", "--index", str(crx), query],
        ],
        "FTS5 script": [[sys.executable, "-c", _FTS5, str(folder), str(script), query]],
    }
    if shutil.which("recollindex"):
        recoll.mkdir()
        (recoll / "recoll.conf").write_text(f"topdirs = {folder}\n")
        engines["recoll"] = [
            ["recollindex", "-c", str(recoll), "-z"],
            ["recollq", "-c", str(recoll), "-n", "5", "-o", query],
        ]
    return engines


def _run(commands: Sequence[Sequence[str]]) -> Seconds:
    """Run commands one after the other; those that skip a file of another kind end with 3."""
    before, started = _cpu_of_children(), time.monotonic()
    for command in commands:
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode not in (0, 3) or (command is commands[-1] and not done.stdout):
            sys.exit(f"{command[0]}: {done.stderr.decode(errors='replace')}")
    return time.monotonic() - started, _cpu_of_children() - before


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _copy(paths: Sequence[Path], folder: Path) -> int:
    """Copy files into a new folder, 200 in each folder below it; return their bytes."""
    for number, path in enumerate(paths):
        target = folder / f"{number // 200:03}" / f"{number}-{path.name}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return sum(path.stat().st_size for path in paths)


def _is_document(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and os.access(path, os.R_OK)


if __name__ == "__main__":
    main()
