"""Budgets of a run: a time, or dollars on a service that charges."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from crx._services.service_usage import parse_dollars
from crx.errors import UsageError

_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_TIME = re.compile(r"(?:\d+(?:\.\d+)?[hms])+")


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run: it stops after `seconds`, and before `dollars` are exceeded."""

    seconds: float = math.inf
    dollars: float = math.inf


def parse_budget(text: str) -> Budget:
    """Return the budget of `20m`, `90s`, `1h30m` or `$2`.

    Raises `UsageError` for a text of another form and for a budget of 0.
    """
    if text.startswith("$"):
        return Budget(dollars=parse_dollars(text))
    if not _TIME.fullmatch(text):
        raise UsageError(f"\"{text}\": not a budget; write a time like 20m, or dollars like '$2'")
    seconds = sum(float(n) * _SECONDS[unit] for n, unit in re.findall(r"([\d.]+)([hms])", text))
    if seconds == 0:
        raise UsageError(f"{text}: a budget must be above 0")
    return Budget(seconds=seconds)
