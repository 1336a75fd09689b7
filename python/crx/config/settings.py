"""The settings and the environment variables: names, types, defaults and bounds."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

from crx.errors import Offline, UsageError

# The origin of a value that was given as an argument or an option.
ARGUMENT = "argument"

Scope = Literal["index", "run"]
Value = str | int | float | bool


def _setting(
    default: Value,
    scope: Scope,
    help: str,
    *,
    least: float | None = None,
    most: float | None = None,
    harmless: tuple[str, ...] | None = (),
    untrusted: tuple[float, float] = (-math.inf, math.inf),
) -> Any:
    """Return the field of a setting.

    `harmless` are the texts that a project file may set although nobody trusts it; None: any. A
    text can name a model, a path or a URL. `untrusted` are the least and the most that such a file
    may set for a number, so that it does not raise a limit of time, memory or processes.
    """
    facts = {"least": least, "most": most, "harmless": harmless, "untrusted": untrusted}
    return field(default=default, metadata={"scope": scope, "help": help, **facts})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, typed. Those of scope "index" are fixed when the index is made."""

    embedder: str = _setting(
        "e5@int8",
        "index",
        "embedder: a model's name, onnx:FOLDER, st:FOLDER, hashed, or none for BM25 alone",
    )
    contexts: str = _setting(
        "outline",
        "index",
        "contexts made while indexing: none or outline",
        harmless=("none", "outline"),
    )
    chunk_tokens: int = _setting(
        0,
        "index",
        "budget of a chunk in the embedder's tokens; 0: 190, or fewer for a small window",
        least=0,
    )
    chunk_chars: int = _setting(
        0, "index", "budget of a chunk in characters, instead of tokens; 0: off", least=0
    )
    chunk_overlap: int = _setting(
        0, "index", "overlap of neighbouring chunks, in the budget's unit", least=0
    )
    description: str = _setting(
        "",
        "run",
        "what the indexes below a project's file hold, told to agents; empty: made of documents",
        harmless=None,
    )
    max_file_mb: int = _setting(
        64, "run", "larger files fail, in millions of bytes", least=1, untrusted=(1, 64)
    )
    read_seconds: int = _setting(
        60,
        "run",
        "CPU seconds that reading a PDF, HTML or office file may take",
        least=1,
        untrusted=(1, 60),
    )
    read_memory_mb: int = _setting(
        2000,
        "run",
        "memory that reading one of them may take, in millions of bytes",
        least=200,
        untrusted=(200, 2000),
    )
    ocr: str = _setting(
        "",
        "run",
        "engine that reads images, and pages of a PDF without text: rapidocr; empty: off",
        harmless=("", "rapidocr"),
    )
    skip_folders: str = _setting(
        "node_modules bower_components __pycache__ __pypackages__ site-packages venv _build"
        " */CACHEDIR.TAG */pyvenv.cfg */CMakeCache.txt"
        " build/../pyproject.toml build/../setup.py build/../package.json build/../Makefile"
        " build/../CMakeLists.txt build/../build.gradle* build/../meson.build"
        " dist/../pyproject.toml dist/../setup.py dist/../package.json"
        " target/../Cargo.toml target/../pom.xml",
        "run",
        "folders without documents, besides hidden ones: NAME, NAME/ENTRY if it holds ENTRY, "
        "NAME/../ENTRY if it lies beside ENTRY",
        harmless=None,
    )
    k: int = _setting(20, "run", "hits wanted", least=1, untrusted=(1, 1000))
    rank_bm25_k1: float = _setting(1.2, "run", "BM25's saturation of term frequency", least=0)
    rank_bm25_b: float = _setting(0.75, "run", "BM25's correction for length, 0 to 1", least=0)
    rank_outline_code: float = _setting(
        2.0, "run", "weight of the outline in BM25 if most of the best are source code", least=0
    )
    rank_outline_named: float = _setting(
        6.0, "run", "the same if all of the best are of the document that the query names", least=0
    )
    rank_fusion_depth: int = _setting(
        150, "run", "chunks taken from each leg", least=1, untrusted=(1, 10_000)
    )
    rank_fusion_dense: float = _setting(
        0.3,
        "run",
        "weight of the dense leg in the fusion; BM25 has the rest; 0 or 1: one leg alone",
        least=0,
        most=1,
    )
    rank_fusion_score_share: float = _setting(
        0.6,
        "run",
        "share of scores against reciprocal ranks in the fusion, 0 to 1; 0: ranks alone",
        least=0,
        most=1,
    )
    rank_fusion_rrf_k: float = _setting(
        5.0, "run", "constant of the reciprocal ranks in the fusion", least=0
    )
    rank_code_definition: float = _setting(
        1.0, "run", "raise of source code that defines a symbol of the query; 0: off", least=0
    )
    rank_code_names: float = _setting(
        0.3,
        "run",
        "raise of source code that defines, or whose file has, a name made of words of the query",
        least=0,
    )
    rank_code_file: float = _setting(
        0.2, "run", "raise of the best chunk of a source file with several good hits", least=0
    )
    rank_code_aside: float = _setting(
        0.3,
        "run",
        "what tests, examples, vendored and generated files, prose and configuration count among "
        "source code; 1: off",
        least=0,
        most=1,
    )
    rank_recency_weight: float = _setting(
        0.0,
        "run",
        "most by which the newest document's score is raised, as a share of it; 0: off",
        least=0,
        most=1,
    )
    rank_recency_days: float = _setting(
        365.0, "run", "days after which a document's raise is half of the newest's", least=0.001
    )
    rank_recency_field: str = _setting(
        "",
        "run",
        "field of the metadata with a document's date; empty: the time of its file",
        harmless=None,
    )
    reranker: str = _setting(
        "crx",
        "run",
        "reranker: crx, a model's name, onnx:FOLDER or st:FOLDER; empty: off",
        harmless=("", "crx"),
    )
    rank_copies_share: float = _setting(
        0.9,
        "run",
        "share of its words in a row that a chunk has in common with a better one that it copies; "
        "0: copies are hits",
        least=0,
        most=1,
    )
    rank_rerank_depth: int = _setting(
        30, "run", "candidates that are reranked", least=1, untrusted=(1, 1000)
    )
    rank_rerank_weight: float = _setting(
        0.5, "run", "weight of the reranker against the fusion, 0 to 1", least=0, most=1
    )
    rank_rerank_ms: float = _setting(
        300.0,
        "run",
        "milliseconds that reranking may take; 0: no limit",
        least=0,
        untrusted=(1, 300),
    )
    rank_rerank_min_relevance: float = _setting(
        0.0, "run", "reranked hits that score less are dropped, 0 to 1", least=0, most=1
    )
    rules: str = _setting(
        "",
        "run",
        "rules of plugins that order hits after those of crx, with spaces between; empty: none",
        harmless=("",),
    )
    budget_tokens: int = _setting(
        4000, "run", "budget of all passages together for window=auto", least=1
    )
    window_tokens: int = _setting(512, "run", "budget of a passage for window=grow", least=0)
    workers: int = _setting(
        0,
        "run",
        "processes that embed while indexing, each with a model in memory; 0: the process itself, "
        "or as many as a Ray cluster has room for",
        least=0,
        untrusted=(0, 0),
    )
    workers_on: str = _setting(
        "",
        "run",
        "where the workers run: ray, ray://HOST:PORT, or empty for this machine",
        harmless=("",),
    )
    generator: str = _setting(
        "",
        "run",
        "what answers: llama:PATH, ollama:NAME, claude:MODEL or openai:URL#MODEL; empty: none",
        harmless=("",),
    )
    ann_above: int = _setting(
        100_000, "run", "rows above which a graph (HNSW) replaces exact search", least=0
    )
    ann: str = _setting(
        "crx",
        "run",
        "graph above ann_above rows: crx, its own, or usearch, which needs crx[usearch]",
        harmless=("crx", "usearch"),
    )
    network_disk: int = _setting(
        0,
        "run",
        "1: allow an index on a network file system (NFS, SMB, sshfs)",
        least=0,
        most=1,
        untrusted=(0, 0),
    )


class Variable(NamedTuple):
    """An environment variable that is not the value of a setting."""

    name: str
    help: str


# Every variable that crx reads besides `CRX_` and the name of a setting.
ENVIRONMENT = (
    Variable("CRX_HOME", "folder of the user's settings file, instead of the system's own"),
    Variable("CRX_INDEX", "index folder when --index is not given"),
    Variable("CRX_MODELS", "folders in which models are looked up first"),
    Variable("CRX_OFFLINE", "1: refuse everything that needs the network"),
    Variable("CRX_OPENAI_API_KEY", "API key for openai: and cohere:URL#MODEL at any other host"),
    Variable("CRX_THREADS", "number of threads; default: the physical cores this process may use"),
    Variable("CRX_TOKEN", 'token that clients of "crx serve" must send'),
    Variable("ANTHROPIC_API_KEY", "API key for claude:MODEL"),
    Variable("COHERE_API_KEY", "API key for cohere:URL#MODEL at api.cohere.com"),
    Variable("DEEPSEEK_API_KEY", "API key for openai:URL#MODEL at api.deepseek.com"),
    Variable("JINA_API_KEY", "API key for cohere:URL#MODEL at api.jina.ai"),
    Variable("OLLAMA_HOST", "address of the server of ollama:NAME; default: 127.0.0.1:11434"),
    Variable("OPENAI_API_KEY", "API key for openai:URL#MODEL at api.openai.com"),
)


class Description(NamedTuple):
    """What a setting is for, and whether it is fixed when the index is made.

    `field` is that of `Settings`: the number `rank.RULE.NUMBER` is `rank_RULE_NUMBER`.
    """

    name: str
    field: str
    scope: Scope
    help: str
    default: Value


def is_offline(environ: Mapping[str, str] = os.environ) -> bool:
    """Return True if `CRX_OFFLINE` is set."""
    return environ.get("CRX_OFFLINE", "0") not in ("", "0")


def refuse_offline(what: str) -> None:
    """Raise `Offline` if `CRX_OFFLINE` is set."""
    if is_offline():
        raise Offline(f"{what}: needs the network, and CRX_OFFLINE is set; unset it to go on")


def describe() -> list[Description]:
    """Return a description of every setting."""
    defaults = Settings()
    return [
        Description(
            name, f.name, f.metadata["scope"], f.metadata["help"], getattr(defaults, f.name)
        )
        for name, f in _FIELDS.items()
    ]


# The native core takes whole numbers of 32 bits.
_MOST_WHOLE = 2**31 - 1


def parse(name: str, value: object, *, origin: str) -> Value:
    """Return the value in its setting's type.

    Raises `UsageError` for an unknown name, a wrong type and a value out of bounds; `origin` names
    the file or variable in its message.
    """
    source = "" if origin == ARGUMENT else f"{origin}: "
    if name not in _FIELDS:
        near = nearest(name, _FIELDS)
        hint = f"; did you mean {near}?" if near else '; "crx config" lists them'
        raise UsageError(f"{source}no such setting: {name}{hint}")
    default = _FIELDS[name].default
    least, most = _FIELDS[name].metadata["least"], _FIELDS[name].metadata["most"]
    wanted = type(default)
    try:
        parsed = _convert(value, wanted)
    except (TypeError, ValueError):
        raise UsageError(f"{source}{name} wants {_KINDS[wanted]}, not {value!r}") from None
    if least is not None and isinstance(parsed, int | float) and not parsed >= least:
        raise UsageError(f"{source}{name} must be at least {least:g}, not {value}")
    if most is None and wanted is int:
        most = _MOST_WHOLE
    if most is not None and isinstance(parsed, int | float) and not parsed <= most:
        raise UsageError(f"{source}{name} must be at most {most:.10g}, not {value}")
    return parsed


def make_settings(values: Mapping[str, Value]) -> Settings:
    """Return the settings of values by their names; the others have their defaults."""
    return Settings(**{_FIELDS[name].name: value for name, value in values.items()})  # type: ignore[arg-type]


def setting_values(settings: Settings) -> dict[str, Value]:
    """Return the value of each setting by its name."""
    return {name: getattr(settings, each.name) for name, each in _FIELDS.items()}


def is_harmless(name: str, value: Value) -> bool:
    """Return True if a project file that nobody trusts may set this value."""
    facts = _FIELDS[name].metadata
    if isinstance(value, str):
        return facts["harmless"] is None or value in facts["harmless"]
    least, most = facts["untrusted"]
    return bool(least <= value <= most)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that a misspelt one is closest to, "" if none is close.

    Numbers of rules end with the names that they have elsewhere: `k1`, `rrf_k`, `rerank_ms`.
    """
    known, ending = list(known), f"_{name.removeprefix('CRX_')}"
    found = [each for each in known if each.replace(".", "_").endswith(ending)]
    return next(iter(found or difflib.get_close_matches(name, known, n=1)), "")


def _setting_name(field: str) -> str:
    """Return the name of the setting of a field: `rank_code_names` is `rank.code.names`."""
    return field.replace("_", ".", 2) if field.startswith("rank_") else field


_FIELDS = {_setting_name(each.name): each for each in fields(Settings)}
_KINDS: dict[type, str] = {
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
