"""Speed of each form in which an embedding model can run on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from crx.errors import ModelError
from crx.models.store import is_installed
from crx.protocols import Embedder

# Seconds of the whole probe, shared by the forms.
PROBE_S = 10.0
# A chunk of ordinary length; it is numbered, because equal texts may be embedded once.
_TEXT = (
    "The committee met on the second of May and heard the report on the repair of the harbour. "
    "Members asked for the cost of each wall, for the days on which no ship could land, and for "
    "the names of those who had signed the contract. The engineer answered that the northern wall "
    "would be finished before winter, and that the price of stone had risen by a tenth. Report "
)
_BATCH = 8


@dataclass(frozen=True, slots=True)
class FormSpeed:
    """A form of an embedder, as it is specified, and the chunks that it embeds in a second.

    `failure` is the reason if it cannot run here; the speed is then 0.
    """

    spec: str
    chunks_per_s: float
    failure: str = ""


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
        embedder = load(spec)
        embedder.embed([_TEXT])  # the first run of a graph allocates its memory
        started, count = clock(), 0
        while (taken := clock() - started) < seconds:
            embedder.embed([f"{_TEXT}{count + number}" for number in range(_BATCH)])
            count += _BATCH
    except ModelError as error:
        return FormSpeed(spec, 0.0, str(error))
    return FormSpeed(spec, count / taken)
