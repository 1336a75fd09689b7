"""The processor, and which of its instructions the core and the model runtimes use.

Only the standard library is imported, so that `make test` can print the line before anything is
built.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import NamedTuple

_CPUINFO = Path("/proc/cpuinfo")
# Names of instruction sets, each with the flags of /proc/cpuinfo any of which means it.
_INSTRUCTIONS = (
    ("AVX2", ("avx2",)),
    ("AVX-512", ("avx512f",)),
    ("VNNI", ("avx512_vnni", "avx_vnni")),
    ("BF16", ("avx512_bf16", "bf16")),
    ("AMX", ("amx_int8",)),
    ("ASIMD", ("asimd",)),
    ("DOTPROD", ("asimddp",)),
    ("I8MM", ("i8mm",)),
)
# Any of these multiplies int8 in fewer steps than single precision.
_FAST_INT8 = frozenset({"VNNI", "AMX", "DOTPROD", "I8MM"})


class Processor(NamedTuple):
    """A processor's name, the cores that this process may use, and its instruction sets.

    `instructions` is empty on systems that do not list them in /proc/cpuinfo.
    """

    name: str
    cores: int
    instructions: tuple[str, ...]

    @property
    def has_fast_int8(self) -> bool:
        """Whether int8 models gain from instructions of their own."""
        return bool(_FAST_INT8.intersection(self.instructions))

    def __str__(self) -> str:
        used = ", ".join(self.instructions) or "instruction sets unknown"
        return f"{self.name}, {self.cores} core{'s' * (self.cores != 1)}: {used}"


def detect_processor(cpuinfo: Path = _CPUINFO) -> Processor:
    """Return this machine's processor."""
    fields = _read_fields(cpuinfo)
    flags = set(fields.get("flags", fields.get("Features", "")).split())
    name = fields.get("model name") or platform.processor() or platform.machine()
    found = tuple(title for title, names in _INSTRUCTIONS if flags.intersection(names))
    return Processor(name, _count_cores(), found)


def _read_fields(cpuinfo: Path) -> dict[str, str]:
    """Return the fields of the first processor that /proc/cpuinfo lists."""
    try:
        first = cpuinfo.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
