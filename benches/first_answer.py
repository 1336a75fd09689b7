"""The first answer by words over a folder of real files, against recoll and a script of FTS5.

    apt install recollcmd
    pip install llama-index-core txtai
    python benches/first_answer.py FOLDER [--files 100 1000 10000] [--query WORDS]
        [--embedder MODEL [--torch FOLDER]] [--json FILE]

FOLDER is any folder of documents and sources; of its files as many as wanted are taken, spread
evenly over the sorted paths, and copied to a folder of their own. Each engine then starts without
an index, in new processes: it indexes the folder and answers one query. `crx` has no embedder and
is otherwise as it comes. recoll is `recollindex` and `recollq` with a new configuration. The script
puts the bytes of each file, decoded as UTF-8, into SQLite's FTS5, one row a file: no formats, no
chunks. The seconds of the processor are those of all processes and threads, the wall seconds those
of the whole. Engines take turns; the least of the rounds counts.

With `--embedder`, the same model makes the vectors of all engines: those of crx in a second pass,
whose times are given for a tenth, half and all of them. LlamaIndex and txtai answer when they have
all vectors. Both get the texts of the files, decoded as UTF-8; LlamaIndex splits them into chunks
of at most 190 tokens, and txtai gets runs of paragraphs, or pieces of one, of that length. With
`--torch`, a folder of the model as sentence-transformers takes it, both also run with their own
embedders, over the same chunks (`pip install llama-index-embeddings-huggingface
sentence-transformers`). An engine that is not installed is left out.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from harness import Seconds, commit, processor, write_results
from indexing import MAX_TOKENS, cut, llama_embedding
from numpy.typing import NDArray

import crx
from crx.ingest.report import Progress
from crx.protocols import Embedder
from crx.registry import load_embedder

# Shares of the vectors at which the times of crx are taken.
SHARES = (0.1, 0.5, 1.0)

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
    """Print the times of all engines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--query", default="how is a file opened")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--embedder", default="", help="a model for the vectors; default: none")
    parser.add_argument("--torch", default="", help="the model in a folder, for rivals with torch")
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--engine", choices=VECTOR_ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--target", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine:
        run_engine(options)
        return
    print(f"{processor()}, {commit()}\n")
    print("| files | MB | engine | CPU seconds | seconds |\n|---|---|---|---|---|")
    paths = sorted(path for path in options.folder.rglob("*") if _is_document(path))
    figures: dict[str, dict[str, float]] = {}
    for count in options.files:
        if count <= len(paths):
            chosen = [paths[number * len(paths) // count] for number in range(count)]
            for engine, (wall, cpu) in _compare(chosen, options).items():
                figures.setdefault(engine, {}).update(
                    {
                        f"{count}_s": round(wall, 2),
                        f"{count}_cpu_s": round(cpu, 2),
                    }
                )
    if options.json:
        write_results(
            options.json, benchmark="first answer", rounds=options.rounds, figures=figures
        )


def _compare(paths: Sequence[Path], options: argparse.Namespace) -> dict[str, Seconds]:
    """Print and return the least times of each engine."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "files"
        size = _copy(paths, folder) / 1e6
        runs: dict[str, list[Seconds]] = {}
        for _ in range(options.rounds):
            for engine, commands in _engines(folder, Path(made), options.query).items():
                runs.setdefault(engine, []).append(_run(commands))
            for engine, torch in _vector_engines(options):
                for name, seconds in _run_with_vectors(engine, torch, folder, Path(made), options):
                    runs.setdefault(name, []).append(seconds)
    least: dict[str, Seconds] = {}
    for engine, each in runs.items():
        wall, cpu = map(min, zip(*each, strict=True))
        least[engine] = wall, cpu
        print(f"| {len(paths):,} | {size:.1f} | {engine} | {cpu:.2f} | {wall:.2f} |", flush=True)
    return least


def _vector_engines(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield the engines that make vectors, each with the folder of the model for torch, if any."""
    if options.embedder:
        yield from ((engine, "") for engine in VECTOR_ENGINES)
        if options.torch:
            yield from ((engine, options.torch) for engine in VECTOR_ENGINES if engine != "crx")


def _run_with_vectors(
    engine: str, torch: str, folder: Path, made: Path, options: argparse.Namespace
) -> Iterator[tuple[str, Seconds]]:
    """Yield what an engine has done and its times, from its start without an index."""
    with tempfile.TemporaryDirectory(dir=made) as target:
        command = [sys.executable, __file__, str(folder), "--engine", engine, "--target", target]
        command += ["--embedder", options.embedder, "--query", options.query, "--torch", torch]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    engine = f"{engine} with torch" if torch else engine
    if done.returncode == _NOT_INSTALLED:
        print(f"{engine} is left out: not installed", file=sys.stderr)
        return
    done.check_returncode()
    for line in done.stdout.splitlines():
        what, wall, cpu = json.loads(line)
        yield f"{engine}, {what}", (wall, cpu)


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


_NOT_INSTALLED = 4
Report = Callable[[str], None]


def run_engine(options: argparse.Namespace) -> None:
    """Index a folder with vectors and answer a query; print the times of each step as JSON."""
    started = time.monotonic()

    def report(what: str) -> None:
        wall = time.monotonic() - started
        print(json.dumps([what, wall, time.process_time() + _cpu_of_children()]), flush=True)

    try:
        VECTOR_ENGINES[options.engine](options, report)
    except ImportError:
        sys.exit(_NOT_INSTALLED)


def _crx(options: argparse.Namespace, report: Report) -> None:
    shares = list(SHARES)

    def on_progress(progress: Progress) -> None:
        done = progress.chunks_done / max(1, progress.chunks_total)
        while progress.step == "embed" and shares and done >= shares[0]:
            report(f"{shares.pop(0):.0%} of the vectors")

    with crx.open(options.target / "crx", settings={"embedder": options.embedder}) as index:
        index.add(options.folder, words_only=True)
        index.search(options.query, rerank=False)
        report("words")
        index.embed(on_progress=on_progress)
        index.search(options.query, rerank=False)
        report("answer by both")


def _llama_index(options: argparse.Namespace, report: Report) -> None:
    from llama_index.core import Document, VectorStoreIndex  # type: ignore[import-not-found]
    from llama_index.core.node_parser import SentenceSplitter  # type: ignore[import-not-found]

    embedder = load_embedder(options.embedder)
    splitter = SentenceSplitter(
        chunk_size=MAX_TOKENS,
        chunk_overlap=0,
        tokenizer=lambda text: list(embedder.token_starts(text)),
    )
    index = VectorStoreIndex.from_documents(
        [Document(text=text) for text in _texts(options.folder)],
        transformations=[splitter],
        embed_model=torch_embedding(options.torch) if options.torch else llama_embedding(embedder),
    )
    index.storage_context.persist(str(options.target / "llama"))
    index.as_retriever(similarity_top_k=5).retrieve(options.query)
    report("answer by vectors")


def torch_embedding(folder: str) -> Any:
    """Return LlamaIndex's own embedder of a model in a folder."""
    embeddings = importlib.import_module("llama_index.embeddings.huggingface")
    return embeddings.HuggingFaceEmbedding(model_name=folder, device="cpu")


def _txtai(options: argparse.Namespace, report: Report) -> None:
    from txtai import Embeddings  # type: ignore[import-not-found]

    embedder = load_embedder(options.embedder)

    def transform(texts: Sequence[str]) -> NDArray[np.float32]:
        return embedder.embed(list(texts))

    own = {"path": options.torch, "gpu": False}
    model = own if options.torch else {"method": "external", "transform": transform}
    engine = Embeddings(hybrid=True, content=True, **model)
    chunks = (chunk for text in _texts(options.folder) for chunk in pieces(text, embedder))
    engine.index((key, chunk, None) for key, chunk in enumerate(chunks))
    engine.save(str(options.target / "txtai"))
    engine.search(options.query, 5)
    report("answer by both")


VECTOR_ENGINES: dict[str, Callable[[argparse.Namespace, Report], None]] = {
    "crx": _crx,
    "LlamaIndex": _llama_index,
    "txtai": _txtai,
}


def pieces(text: str, embedder: Embedder) -> Iterator[str]:
    """Yield runs of paragraphs; what is longer, of which an embedder sees the beginning, is cut."""
    for run in cut(text, embedder):
        starts = [0, *embedder.token_starts(run).tolist()[MAX_TOKENS::MAX_TOKENS], len(run)]
        yield from (run[start:end] for start, end in pairwise(starts))


def _texts(folder: Path) -> Iterator[str]:
    """Yield the files that are text."""
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        text = path.read_bytes().decode(errors="replace")
        if text.strip() and "\0" not in text:
            yield text


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
