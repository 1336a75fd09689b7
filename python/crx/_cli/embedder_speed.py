"""Speed of embedders and rerankers, and of each form of an embedder's model, on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from crx._models.processor import detect_processor
from crx._models.store import is_installed
from crx.config import replace_text, user_file
from crx.errors import ModelError
from crx.protocols import Embedder, Remote, Reranker
from crx.thread_count import thread_count

# Seconds of the whole probe, shared by the forms.
PROBE_S = 10.0
# Seconds of the probe of one embedder, with the batch that it ends with.
QUICK_PROBE_S = 1.5
# File of the speeds that were measured, beside the user's settings.
_SPEEDS_FILE = "speeds.json"
# Tokens of what is embedded in front of a chunk: a title and a heading.
_PREFIX_TOKENS = 15
# A chunk of ordinary length; it is numbered, because equal texts may be embedded once.
_TEXT = (
    "The committee met on the second of May and heard the report on the repair of the harbour. "
    "Members asked for the cost of each wall, for the days on which no ship could land, and for "
    "the names of those who had signed the contract. The engineer answered that the northern wall "
    "would be finished before winter, and that the price of stone had risen by a tenth. Report "
)
_BATCH = 8
_QUERY = "what did the repair of the harbour cost?"
# Tokens of the chunk that speeds are given in.
_CHUNK_TOKENS = 200


@dataclass(frozen=True, slots=True)
class FormSpeed:
    """A form of an embedder, as it is specified, and the chunks that it embeds in a second.

    `failure` is the reason if it cannot run here; the speed is then 0.
    """

    spec: str
    chunks_per_s: float
    failure: str = ""


def estimate_seconds(embedder: Embedder, counts: Mapping[str, int], *, probe: bool) -> float | None:
    """Return how long the pending chunks of an index take to embed here, None if not known.

    `counts` are those of its store. The speed was measured before on this machine, or is measured
    now, if `probe`. An embedder on a server is not asked.
    """
    if not counts["chunks"] or isinstance(embedder, Remote):
        return None
    if probe and _name(embedder.fingerprint) not in _read_speeds():
        _remember_speed(embedder.fingerprint, _tokens_per_s(embedder))
    return remembered_seconds(embedder.fingerprint, counts)


def remembered_seconds(fingerprint: str, counts: Mapping[str, int]) -> float | None:
    """Return what `estimate_seconds` does, by the speed that was measured before."""
    speed = _read_speeds().get(_name(fingerprint))
    if not speed or not counts["chunks"]:
        return None
    tokens = counts["tokens"] / counts["chunks"] + _PREFIX_TOKENS
    return counts["pending"] * tokens / speed


def _texts_per_s(
    read: Callable[[list[str]], object],
    text: str,
    *,
    seconds: float,
    batch: int = _BATCH,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return how many texts like this one a model reads in a second, with all its threads."""
    read([text])  # the first run of a graph allocates its memory
    count, started = 0, clock()
    while (taken := clock() - started) < seconds:
        read([f"{text}{count + number}" for number in range(batch)])
        count += batch
    return count / taken


def _tokens_per_s(embedder: Embedder) -> float:
    texts_per_s = _texts_per_s(embedder.embed, _TEXT, seconds=QUICK_PROBE_S, batch=thread_count())
    return texts_per_s * len(embedder.token_starts(_TEXT))


def measure_speed(model: Embedder | Reranker) -> None:
    """Measure a model on this machine and remember its speed for `format_speed`."""
    if isinstance(model, Embedder):
        _remember_speed(model.fingerprint, _tokens_per_s(model))
    else:
        pairs_per_s = _texts_per_s(partial(model.score, _QUERY), _TEXT * 2, seconds=QUICK_PROBE_S)
        _remember_speed(model.fingerprint, pairs_per_s)


def format_speed(kind: str, fingerprint: str) -> str:
    """Return the measured speed of a model on this machine, or "" if it is not known."""
    speed = _read_speeds().get(_name(fingerprint))
    if not speed:
        return ""
    return (
        f"{speed / _CHUNK_TOKENS:,.0f} chunks/s" if kind == "embedder" else f"{speed:,.0f} pairs/s"
    )


def estimate_speed(fingerprint: str, *, work: float) -> str:
    """Return the speed of an embedder that takes `work` times the work of one that was measured."""
    speed = _read_speeds().get(_name(fingerprint))
    if not speed:
        return ""
    return f"about {float(f'{speed / _CHUNK_TOKENS / work:.2g}'):,g} chunks/s"


def _read_speeds() -> dict[str, float]:
    """Return the speeds that were measured; none if the file is missing or not ours."""
    with contextlib.suppress(OSError, ValueError):
        read = json.loads(_speeds_file().read_text(encoding="utf-8"))
        if isinstance(read, dict):
            return {name: s for name, s in read.items() if isinstance(s, float) and s > 0}
    return {}


def _remember_speed(fingerprint: str, speed: float) -> None:
    # A home that cannot be written to costs the next estimate a probe.
    with contextlib.suppress(OSError):
        speeds = {**_read_speeds(), _name(fingerprint): speed}
        replace_text(_speeds_file(), json.dumps(speeds, indent=2) + "\n")


def _name(fingerprint: str) -> str:
    """Return what the speed depends on."""
    return f"{fingerprint}, {thread_count()} threads, {detect_processor()}"


def _speeds_file() -> Path:
    return user_file(os.environ).parent / _SPEEDS_FILE


def list_forms(spec: str) -> list[str]:
    """Return the specifications of the model of `spec` that may run here, itself among them.

    They are those of the model store: in single precision and in int8, and both arithmetics of
    OpenVINO if it is installed. Anything else has no other form.
    """
    name = spec.removeprefix("openvino:").partition(":")[0].partition("@")[0]
    if not is_installed(name):
        return [spec]
    forms = [name]
    if is_installed(f"{name}@int8"):
        forms.append(f"{name}@int8")
    if find_spec("openvino") is not None:
        forms += [f"openvino:{name}", f"openvino:{name}:arithmetic=bf16"]
    return forms


def measure_forms(
    specs: Sequence[str],
    *,
    load: Callable[[str], Embedder],
    clock: Callable[[], float] = time.perf_counter,
) -> list[FormSpeed]:
    """Return the speed of each form, fastest first."""
    speeds = [_measure(spec, load, clock, seconds=PROBE_S / len(specs)) for spec in specs]
    return sorted(speeds, key=lambda each: -each.chunks_per_s)


def _measure(
    spec: str, load: Callable[[str], Embedder], clock: Callable[[], float], *, seconds: float
) -> FormSpeed:
    try:
        speed = _texts_per_s(load(spec).embed, _TEXT, seconds=seconds, clock=clock)
    except ModelError as error:
        return FormSpeed(spec, 0.0, str(error))
    return FormSpeed(spec, speed)
