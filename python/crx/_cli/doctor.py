"""`crx doctor`: checks of this installation and of the nearest index."""

from __future__ import annotations

import math
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Literal

import click
import numpy as np

from crx._cli.doctor_file import diagnose
from crx._cli.embedder_speed import list_forms, measure_forms, remembered_seconds
from crx._cli.options import find_index, index_option, json_option
from crx._cli.output import colored, print_json, print_line
from crx._cli.progress import format_duration
from crx._index.handle import open as open_index
from crx._models.card import read_card
from crx._models.known import find_better_embedder
from crx._models.processor import detect_processor
from crx._models.store import list_models, search_path
from crx.config import is_offline, project_file, resolve, user_file
from crx.errors import CrxError, Damaged, ModelError, NoRoom, SystemFailure
from crx.labels import format_size
from crx.plugins import load_shipped
from crx.registry import NO_EMBEDDER, load_embedder, load_reranker
from crx.thread_count import thread_count
from crx.types import Status

_State = Literal["ok", "warn", "fail"]

# The module of each extra, which is searched for and not imported.
_EXTRAS = {
    "serve": "starlette",
    "mcp": "mcp",
    "code": "tree_sitter",
    "formats": "oxmsg",
    "convert": "onnx",
    "bundle": "packaging",
    "eval": "matplotlib",
    "ocr": "rapidocr",
    "picker": "prompt_toolkit",
    "st": "sentence_transformers",
    "openvino": "openvino",
    "hub": "huggingface_hub",
    "usearch": "usearch",
    "llama": "llama_cpp",
    "claude": "anthropic",
    "openai": "openai",
    "milvus": "pymilvus",
    "postgres": "pg8000",
    "ray": "ray",
    "langchain": "langchain_core",
    "llamaindex": "llama_index",
    "haystack": "haystack",
    "llm": "llm",
    "parquet": "pyarrow",
    "zstd": "zstandard",
}
# Less free space is a warning; less than a tenth of it a failure.
_LITTLE_ROOM_BYTES = 1_000_000_000

# An embedder that would take longer for the index is not recommended.
_LONGEST_EMBEDDING_S = 3600.0
# A form of the embedder is recommended if it is faster than the present one by more than noise.
_WORTH_A_CHANGE = 1.1

_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


@dataclass(frozen=True, slots=True)
class _Check:
    """The result of one check; `exit_code` is that of a failure."""

    name: str
    state: _State
    detail: str
    exit_code: int = 0


@click.command()
@click.argument(
    "file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@index_option
@click.option(
    "--verify", "thorough", is_flag=True, help="Also check every row of the index against its hash."
)
@click.option(
    "--speed",
    "probed",
    is_flag=True,
    help="Also embed for ten seconds with each form of the embedder's model, and name the fastest.",
)
@json_option
def command(
    *, file: Path | None, folder: str | None, thorough: bool, probed: bool, as_json: bool
) -> int:
    """Check this installation and the nearest index, or how FILE is read.

    The exit code is that of the first check that failed, 0 if none did. With FILE, it prints the
    reader, the text, and what is missing of it or why it is refused.
    """
    if file is not None:
        return diagnose(file, find_index(folder), as_json=as_json)
    checks: list[_Check] = []
    for check in _run_checks(find_index(folder), thorough=thorough, probed=probed):
        # Settings that cannot be read fail every check that needs them, in the same words.
        if check.state == "fail" and check.detail in [each.detail for each in checks]:
            continue
        checks.append(check)
        if not as_json:
            state = colored(f"{check.state:4}", _COLORS[check.state])
            print_line(state, f"  {check.name:9}  {check.detail}")
    if as_json:
        names = ("name", "state", "detail")
        print_json({"checks": [{name: getattr(each, name) for name in names} for each in checks]})
    return next((check.exit_code for check in checks if check.state == "fail"), 0)


def _run_checks(index: Path | None, *, thorough: bool, probed: bool = False) -> Iterator[_Check]:
    """Yield the result of each check, from the installation to the index."""
    yield from _run("crx", _versions)
    yield from _run("core", _core)
    yield from _run("settings", _settings)
    yield from _run("offline", _offline)
    yield from _run("seal key", _seal_key)
    yield from _run("models", _models)
    yield from _run("embedder", _embedder)
    if probed:
        yield from _run("speed", _speed)
    yield from _run("reranker", _reranker)
    yield from _run("threads", _threads)
    yield from _run("devices", _devices)
    yield from _run("extras", _extras)
    yield from _run("office", _office)
    yield from _run("index", lambda: _index(index, thorough=thorough))
    yield from _run("disk", lambda: _disk(index or Path.cwd()))


def _run(name: str, check: Callable[[], Iterator[tuple[_State, str]]]) -> Iterator[_Check]:
    """Yield the results of a check; an exception is a failure with its exit code."""
    models = dict.fromkeys(("models", "embedder", "reranker"), ModelError)
    codes = {**models, "index": Damaged, "disk": NoRoom}
    code = codes.get(name, SystemFailure).exit_code
    try:
        for state, detail in check():
            yield _Check(name, state, detail, code if state == "fail" else 0)
    except CrxError as error:
        yield _Check(name, "fail", str(error), error.exit_code)
    except (OSError, ImportError) as error:
        yield _Check(name, "fail", str(error), SystemFailure.exit_code)


def _versions() -> Iterator[tuple[_State, str]]:
    try:
        version = metadata.version("crx")
    except metadata.PackageNotFoundError:
        version = "not installed, run from its sources"
    python = f"Python {platform.python_version()} at {sys.executable}"
    yield "ok", f"{version}; {python}; {platform.system()} {platform.machine()}"


def _core() -> Iterator[tuple[_State, str]]:
    native = import_module("crx._native")
    whole = native.analyze("The whales") != []
    yield ("ok" if whole else "fail"), f"{native.__file__}"


def _settings() -> Iterator[tuple[_State, str]]:
    files = [user_file(os.environ), project_file(Path.cwd())]
    read = [str(path) for path in files if path is not None and path.is_file()]
    origins = resolve().origins
    variables = sorted({o for o in origins.values() if o.startswith("CRX_")})
    yield "ok", ", ".join([*read, *variables]) or f"all defaults; {files[0]} does not exist"


def _offline() -> Iterator[tuple[_State, str]]:
    state = "set: every use of the network is an error" if is_offline() else "not set"
    yield "ok", f"CRX_OFFLINE is {state}"


def _seal_key() -> Iterator[tuple[_State, str]]:
    path = user_file(os.environ).with_name("seal.key")
    if not path.exists():
        above = next(folder for folder in path.parents if folder.exists())
        if os.access(above, os.W_OK | os.X_OK):
            yield "ok", f"{path}: made with the first index"
        else:
            yield "warn", f"{path}: cannot be written, so each process rebuilds derived files"
    elif not os.access(path, os.R_OK) or path.stat().st_size != 32:
        yield "warn", f"{path}: not a key of 32 bytes; delete it, and another is made"
    elif os.name == "posix" and path.stat().st_mode & 0o077:
        yield "warn", f"{path}: readable by others; run chmod 600 on it"
    else:
        yield "ok", str(path)


def _models() -> Iterator[tuple[_State, str]]:
    for models in search_path():
        here = [name for name, folder in list_models().items() if folder.parent == models]
        none = "no models" if models.is_dir() else "no such folder"
        yield "ok", f"{models}: {', '.join(here) or none}"
    for folder in list_models().values():
        try:
            read_card(folder)
        except ModelError as error:
            yield "warn", str(error)


def _embedder() -> Iterator[tuple[_State, str]]:
    spec = resolve().settings.embedder
    embedder = load_embedder(spec)
    if not embedder.dimensions:
        yield "ok", f"{spec}: no vectors; BM25 alone"
        return
    length = float(np.linalg.norm(embedder.embed(["one line of text"])[0]))
    about = f"{spec}: {embedder.dimensions} dimensions, {embedder.max_tokens} tokens"
    if abs(length - 1) > 1e-3:
        yield "fail", f"{about}; its vector has length {length:.4f}, not 1; add the model again"
    else:
        yield "ok", f"{about}; {embedder.fingerprint}"


def _speed() -> Iterator[tuple[_State, str]]:
    spec = resolve().settings.embedder
    fastest, *others = measure_forms(list_forms(spec), load=load_embedder)
    for each in (fastest, *others):
        speed = each.failure or f"{each.chunks_per_s:,.0f} chunks a second"
        yield "ok", f"{each.spec}: {speed}"
    chosen = next(each for each in (fastest, *others) if each.spec == spec)
    if fastest.chunks_per_s > _WORTH_A_CHANGE * chosen.chunks_per_s:
        yield "ok", f"the fastest for a new index: crx config set embedder {fastest.spec}"


def _reranker() -> Iterator[tuple[_State, str]]:
    spec = resolve().settings.reranker
    if not spec:
        yield "ok", "none set; crx search --rerank uses the one included in crx"
        return
    reranker = load_reranker(spec)
    alike, other = reranker.score("one line of text", ["one line of text", "another thing"])
    device = getattr(reranker, "device", "cpu")
    yield "ok", f"{spec} on {device}; scores {alike:.3f}, {other:.3f}; {reranker.fingerprint}"


def _threads() -> Iterator[tuple[_State, str]]:
    source = " (CRX_THREADS)" if os.environ.get("CRX_THREADS") else ""
    yield "ok", f"{thread_count()} of {os.cpu_count()} processors{source}"
    processor = detect_processor()
    int8 = "" if processor.has_fast_int8 or not processor.instructions else "; none for int8"
    yield "ok", f"{processor}{int8}"


def _devices() -> Iterator[tuple[_State, str]]:
    providers = import_module("crx._models.onnx_runtime").onnxruntime.get_available_providers()
    names = [name.removesuffix("ExecutionProvider") for name in providers]
    yield "ok", f"ONNX Runtime {metadata.version('onnxruntime')}: {', '.join(names)}"


def _extras() -> Iterator[tuple[_State, str]]:
    found = {extra: util.find_spec(module) is not None for extra, module in _EXTRAS.items()}
    installed = [extra for extra, there in found.items() if there]
    missing = [extra for extra, there in found.items() if not there]
    yield "ok", f"installed: {', '.join(installed) or 'none'}; not: {', '.join(missing) or 'none'}"


def _office() -> Iterator[tuple[_State, str]]:
    without = "LibreOffice is not on PATH: .doc and .ppt files are not read"
    yield "ok", load_shipped("crx.programs", "libreoffice")() or without


def _index(path: Path | None, *, thorough: bool) -> Iterator[tuple[_State, str]]:
    if path is None:
        yield "ok", "none here or above"
        return
    with open_index(path, create=False) as index:
        status = index.status()
        counts = status.counts
        yield "ok", f"{path}: {counts['documents']:,} documents, {counts['chunks']:,} chunks"
        yield "ok", f"embedder {status.settings['embedder']}; {_written_by(path)}"
        for line in status.notes:
            yield "warn", line
        yield from _recommendation(status, [lang for lang, _ in index.store.chunks_by_lang()])
        if status.failures:
            yield "warn", f'{len(status.failures)} files failed; "crx status" names them'
        index.check_findable()
        if status.settings["embedder"] == NO_EMBEDDER:
            yield "ok", "BM25 finds what it is asked for; the index has no embedder"
        else:
            yield "ok", "both legs find what they are asked for"
        if thorough:
            found = index.verify()
            for fault in found.faults:
                yield "fail", fault
            for line in found.repaired:
                yield "warn", line
            if not found.faults:
                yield "ok", "every row matches its hash"


def _recommendation(status: Status, langs: Sequence[str]) -> Iterator[tuple[_State, str]]:
    """Name an embedder of the hub that reads the languages, if its authors found it better.

    How long it would take follows from the speed that was measured of the present one.
    """
    name = status.settings["embedder"]
    chunks = {**status.counts, "pending": status.counts["chunks"]}
    seconds = remembered_seconds(status.settings.get("embedder_fingerprint", ""), chunks)
    if seconds is None:
        return
    most = _LONGEST_EMBEDDING_S / seconds if seconds else math.inf
    found = find_better_embedder(name, langs=langs, most_times_slower=most)
    if found is None:
        return
    better, own = found
    figures = f"{better.score} in {own.benchmark} by its authors, and {name} {own.score}"
    takes = format_duration(seconds * better.times_slower(own))
    yield "ok", f"another embedder: hf:{better.repository} has {figures}; about {takes} here"


def _written_by(path: Path) -> str:
    """Return the version of SQLite that last wrote the index, from the file's header."""
    with (path / "crx.db").open("rb") as file:
        number = int.from_bytes(file.read(100)[96:100], "big")
    return f"SQLite {number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"


def _disk(path: Path) -> Iterator[tuple[_State, str]]:
    existing = next(each for each in (path, *path.absolute().parents) if each.exists())
    free = shutil.disk_usage(existing).free
    room = f"{format_size(free)} free at {existing}"
    if not os.access(existing, os.W_OK):
        yield "warn", f"{existing}: cannot be written to"
    if free < _LITTLE_ROOM_BYTES // 10:
        yield "fail", f"{room}; free some"
    elif free < _LITTLE_ROOM_BYTES:
        yield "warn", room
    else:
        yield "ok", room
