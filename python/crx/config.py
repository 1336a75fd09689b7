"""Settings: what there is, where a value came from, and which one won.

A value is looked for in this order: flag, `CRX_*` variable, project file (`crx.toml` here or
above), user file (`config.toml` in the user's configuration folder), default.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from crx.errors import Offline, UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT_FILE = "crx.toml"
# The table of a settings file that gives folders prompts of their own.
PROMPTS = "prompts"
Scope = Literal["index", "run"]
Value = str | int | float | bool


def _setting(
    default: Value,
    scope: Scope,
    help: str,
    *,
    least: float | None = None,
    most: float | None = None,
) -> Any:
    bounds = {"least": least, "most": most}
    return field(default=default, metadata={"scope": scope, "help": help, **bounds})


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that is not the value of a setting."""

    name: str
    help: str


# Every variable that crx reads besides `CRX_` and the name of a setting.
ENVIRONMENT = (
    Variable("CRX_HOME", "folder of the user's settings file, in place of the system's own"),
    Variable("CRX_INDEX", "index folder when --index is not given"),
    Variable("CRX_MODELS", "folders in which models are looked up first"),
    Variable("CRX_OFFLINE", "1: refuse everything that needs the network"),
    Variable("CRX_OPENAI_API_KEY", "API key for openai:URL#MODEL at any other host"),
    Variable("CRX_THREADS", "number of threads; default: every core this process may use"),
    Variable("ANTHROPIC_API_KEY", "API key for claude:MODEL"),
    Variable("DEEPSEEK_API_KEY", "API key for openai:URL#MODEL at api.deepseek.com"),
    Variable("OPENAI_API_KEY", "API key for openai:URL#MODEL at api.openai.com"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, typed. Those of scope "index" are fixed when the index is made."""

    embedder: str = _setting("minilm", "index", "embedder: a model's name, st:PATH, hashed, ...")
    contexts: str = _setting("outline", "index", "contexts made while indexing: none or outline")
    chunk_tokens: int = _setting(
        0,
        "index",
        "budget of a chunk in the embedder's tokens; 0: what it reads, less the context",
        least=0,
    )
    chunk_chars: int = _setting(
        0, "index", "budget of a chunk in characters, instead of tokens; 0: off", least=0
    )
    chunk_overlap: int = _setting(
        0, "index", "overlap of neighbours, in the budget's unit", least=0
    )
    max_file_mb: int = _setting(
        64, "run", "a larger file is not read but named as failed, in millions of bytes", least=1
    )
    k: int = _setting(20, "run", "hits wanted", least=1)
    bm25_depth: int = _setting(150, "run", "chunks taken from BM25", least=0)
    dense_depth: int = _setting(150, "run", "chunks taken from the dense leg", least=0)
    bm25_weight: float = _setting(0.6, "run", "weight of BM25 in the fusion", least=0)
    dense_weight: float = _setting(0.4, "run", "weight of the dense leg in the fusion", least=0)
    rrf_k: float = _setting(20.0, "run", "the constant of reciprocal rank fusion", least=0)
    k1: float = _setting(1.2, "run", "BM25's saturation of term frequency", least=0)
    b: float = _setting(0.75, "run", "BM25's correction for length, 0 to 1", least=0)
    outline_weight: float = _setting(2.0, "run", "BM25 weight of the outline", least=0)
    context_weight: float = _setting(1.0, "run", "BM25 weight of the context", least=0)
    reranker: str = _setting("", "run", "reranker: crx, a model's name, onnx:PATH, ...; none: off")
    rerank_depth: int = _setting(150, "run", "candidates that are reranked", least=1)
    rerank_weight: float = _setting(
        0.3, "run", "weight of the reranker against the fusion, 0 to 1", least=0, most=1
    )
    rerank_ms: float = _setting(
        0.0, "run", "rerank only as many as fit into so many milliseconds; 0: all", least=0
    )
    min_relevance: float = _setting(
        0.0, "run", "drop reranked hits that score less, 0 to 1", least=0, most=1
    )
    budget_tokens: int = _setting(
        4000, "run", "budget of all passages together for window=auto", least=1
    )
    window_tokens: int = _setting(512, "run", "budget of a passage for window=grow", least=0)
    generator: str = _setting(
        "", "run", "what answers: llama:PATH, claude:MODEL, openai:URL#MODEL, ..."
    )
    ann_above: int = _setting(
        100_000, "run", "rows above which HNSW replaces exact search", least=0
    )


@dataclass(frozen=True, slots=True)
class Resolved:
    """Settings, and for each name what gave it its value.

    `templates` are the prompts of `[prompts]`: files by folder, both absolute.
    """

    settings: Settings
    origins: Mapping[str, str]
    templates: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Description:
    """What a setting is for, and whether it is fixed when the index is made."""

    name: str
    scope: Scope
    help: str


def is_offline(environ: Mapping[str, str] = os.environ) -> bool:
    """Return True if `CRX_OFFLINE` is set."""
    return environ.get("CRX_OFFLINE", "0") not in ("", "0")


def refuse_offline(what: str) -> None:
    """Raise `Offline` if `CRX_OFFLINE` is set."""
    if is_offline():
        raise Offline(f"{what}: needs the network, and CRX_OFFLINE is set; unset it to go on")


def describe() -> list[Description]:
    """Return a description of every setting."""
    return [Description(f.name, f.metadata["scope"], f.metadata["help"]) for f in fields(Settings)]


def parse(name: str, value: object, *, origin: str) -> Value:
    """Return the value in its setting's type; `origin` says in the error who gave it."""
    known = {f.name: f for f in fields(Settings)}
    if name not in known:
        raise UsageError(f"{origin}: no such setting: {name}{_nearest(name, known)}")
    default = known[name].default
    least, most = known[name].metadata["least"], known[name].metadata["most"]
    wanted = type(default)
    try:
        parsed = _convert(value, wanted)
    except (TypeError, ValueError):
        raise UsageError(f"{origin}: {name} wants {_kinds[wanted]}, not {value!r}") from None
    if least is not None and isinstance(parsed, int | float) and not parsed >= least:
        raise UsageError(f"{origin}: {name} must be at least {least:g}, not {value}")
    if most is not None and isinstance(parsed, int | float) and not parsed <= most:
        raise UsageError(f"{origin}: {name} must be at most {most:g}, not {value}")
    return parsed


def resolve(
    flags: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Resolved:
    """Return the settings that hold here; None among the flags means not given."""
    environ = os.environ if environ is None else environ
    values: dict[str, Value] = {}
    templates: dict[str, str] = {}
    origins = dict.fromkeys((f.name for f in fields(Settings)), "default")

    def take(given: Mapping[str, object], origin: str) -> None:
        for name, value in given.items():
            values[name] = parse(name, value, origin=origin)
            origins[name] = origin

    user = user_file(environ)
    for path in (user, project_file(folder or Path.cwd())):
        if path is not None and path.is_file():
            table = _read(path)
            templates |= _templates(path, table.pop(PROMPTS, {}))
            take(table, str(path))
    for variable, value in environ.items():
        if variable.startswith("CRX_") and not _is_other(variable):
            take({variable[4:].lower(): value}, variable)
    take({name: value for name, value in (flags or {}).items() if value is not None}, "flag")
    return Resolved(Settings(**values), origins, templates)  # type: ignore[arg-type]


def user_file(environ: Mapping[str, str]) -> Path:
    """Return the path of the user's settings file, whether or not it is there."""
    if "CRX_HOME" in environ:
        return Path(environ["CRX_HOME"]) / "config.toml"
    import platformdirs  # 10 ms that only this path pays

    return Path(platformdirs.user_config_dir("crx")) / "config.toml"


def project_file(folder: Path) -> Path | None:
    """Return the settings file of the project that a folder lies in, or None."""
    folder = folder.resolve()
    for place in (folder, *folder.parents):
        if (place / PROJECT_FILE).is_file():
            return place / PROJECT_FILE
    return None


def write(path: Path, changes: Mapping[str, Value | None]) -> None:
    """Set (or, with None, unset) values in a settings file, leaving the others."""
    values: dict[str, Value] = {}
    prompts: object = {}
    if path.is_file():
        table = _read(path)
        prompts = table.pop(PROMPTS, {})
        _templates(path, prompts)
        values = {n: parse(n, v, origin=str(path)) for n, v in table.items()}
    for name, value in changes.items():
        if value is None:
            values.pop(name, None)
        else:
            values[name] = parse(name, value, origin=str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{name} = {_toml(value)}\n" for name, value in sorted(values.items())]
    if isinstance(prompts, dict) and prompts:
        lines += [f"\n[{PROMPTS}]\n", *(f"{_toml(n)} = {_toml(v)}\n" for n, v in prompts.items())]
    aside = path.with_suffix(".tmp")
    aside.write_text("".join(lines), encoding="utf-8")
    aside.replace(path)


_kinds: dict[type, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true/false",
}


def _convert(value: object, wanted: type) -> Value:
    if wanted is str:
        if not isinstance(value, str):
            raise TypeError
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError
    if wanted is int:
        if isinstance(value, float):
            raise ValueError
        return int(value)
    number = float(value)
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError
    return number


def _nearest(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else '; "crx config" lists them'


def _is_other(variable: str) -> bool:
    known = {each.name for each in ENVIRONMENT}
    return variable in known or variable.startswith("CRX_TEST_")


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as TOML: {error}") from None


def _templates(path: Path, table: object) -> dict[str, str]:
    """Return the files of a table of prompts by folder; both lie where the settings file does."""
    if not isinstance(table, dict) or not all(isinstance(file, str) for file in table.values()):
        raise UsageError(f'{path}: [{PROMPTS}] wants lines like "docs/legal" = "legal.txt"')
    here = path.absolute().parent
    return {
        os.path.normpath(here / folder): os.path.normpath(here / file)
        for folder, file in table.items()
    }


def _toml(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)
