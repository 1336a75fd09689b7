"""What a run on a metered service used, what that cost, and the cap it keeps.

Tokens are the service's own counts. Dollars are U.S. dollars without tax; where a model's price
is not known they are `None`, never a guess.
"""

from __future__ import annotations

import math
import re
import threading
from dataclasses import dataclass

from crx.errors import BudgetSpent, UsageError

_MILLION = 1_000_000
_AMOUNT = r"[0-9]+(\.[0-9]+)?"


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens of one model.

    `written` and `written_hour` are for tokens put into the prompt cache for five minutes and for
    an hour, `read` for tokens read from it. A prompt of more than `long_from` tokens pays
    `long_factor` times as much for everything.
    """

    input: float
    output: float
    read: float
    written: float
    written_hour: float
    long_from: float = math.inf
    long_factor: float = 1.0

    def dollars(self, used: ServiceUsage, *, hour: bool = False, discount: float = 1.0) -> float:
        """Return what the tokens of one request cost; `hour`: how long what it wrote is kept."""
        written = self.written_hour if hour else self.written
        cost = (
            used.input * self.input
            + used.written * written
            + used.read * self.read
            + used.output * self.output
        )
        factor = self.long_factor if used.prompt > self.long_from else 1.0
        return cost / _MILLION * discount * factor


@dataclass(frozen=True, slots=True)
class ServiceUsage:
    """Tokens and dollars of some requests.

    `input` were neither written to the prompt cache nor read from it. `unanswered` requests were
    sent, but their answer was lost; what the service charged for them is not known.
    """

    requests: int = 0
    input: int = 0
    written: int = 0
    read: int = 0
    output: int = 0
    dollars: float | None = 0.0
    unanswered: int = 0

    @property
    def prompt(self) -> int:
        """All tokens sent."""
        return self.input + self.written + self.read

    @property
    def share_read(self) -> float:
        """The share of the tokens sent that came from the cache, 0 to 1."""
        return self.read / self.prompt if self.prompt else 0.0

    def __add__(self, other: ServiceUsage) -> ServiceUsage:
        known = self.dollars is not None and other.dollars is not None
        return ServiceUsage(
            requests=self.requests + other.requests,
            input=self.input + other.input,
            written=self.written + other.written,
            read=self.read + other.read,
            output=self.output + other.output,
            dollars=(self.dollars or 0.0) + (other.dollars or 0.0) if known else None,
            unanswered=self.unanswered + other.unanswered,
        )

    def __sub__(self, before: ServiceUsage) -> ServiceUsage:
        """Return what was used since `before`."""
        known = self.dollars is not None and before.dollars is not None
        return ServiceUsage(
            requests=self.requests - before.requests,
            input=self.input - before.input,
            written=self.written - before.written,
            read=self.read - before.read,
            output=self.output - before.output,
            dollars=(self.dollars or 0.0) - (before.dollars or 0.0) if known else None,
            unanswered=self.unanswered - before.unanswered,
        )

    def rows(self) -> tuple[tuple[str, str], ...]:
        """Return (name, value) rows for a table."""
        rows = (
            ("requests", f"{self.requests:,}"),
            ("input tokens", f"{self.input:,}"),
            ("written to cache", f"{self.written:,}"),
            ("read from cache", f"{self.read:,}"),
            ("share read from cache", f"{self.share_read:.1%}"),
            ("output tokens", f"{self.output:,}"),
            ("dollars", "unknown" if self.dollars is None else f"${self.dollars:.4f}"),
        )
        lost = (("answers lost", f"{self.unanswered:,}"),) if self.unanswered else ()
        return rows + lost


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would use and cost: with caching, with caching and batches, and with neither."""

    documents: int
    chunks: int
    usage: ServiceUsage
    dollars: float | None
    dollars_batch: float | None
    dollars_uncached: float | None


class Meter:
    """Counts what is used and keeps it under a cap in dollars.

    A request is let through only when the worst it can cost still fits beside what was spent and
    what is under way, so the cap is never exceeded. One whose cost is not known in the end counts
    as its worst. May be used from several threads.
    """

    def __init__(self, *, cap_dollars: float = math.inf) -> None:
        if not cap_dollars > 0:
            raise UsageError(f"${cap_dollars:g}: a spending cap must be above 0")
        self._cap = cap_dollars
        self._usage = ServiceUsage()
        self._held = 0.0
        self._charged = 0.0
        self._lock = threading.Lock()

    @property
    def usage(self) -> ServiceUsage:
        """What was used so far."""
        return self._usage

    def hold(self, worst_dollars: float) -> Reservation:
        """Set the worst case of a request aside. Raises `BudgetSpent` when it does not fit."""
        hold = Reservation(self, worst_dollars)
        hold.renew()
        return hold

    def paid(self) -> Reservation:
        """Return a hold for what is paid already: counted, whatever the cap."""
        return Reservation(self, 0.0)

    def _take(self, dollars: float) -> None:
        with self._lock:
            if self._charged + self._held + dollars > self._cap:
                raise BudgetSpent(
                    f"${self._cap:g}: ${self._charged:.4f} is spent and the next request may cost "
                    f"${dollars:.4f}; raise the budget to go on"
                )
            self._held += dollars

    def _give(self, dollars: float, *, used: ServiceUsage, charged: float) -> None:
        with self._lock:
            self._held -= dollars
            self._charged += charged
            self._usage += used


class Reservation:
    """What is set aside for one request until it is known what it cost."""

    def __init__(self, meter: Meter, dollars: float) -> None:
        self._meter = meter
        self._dollars = dollars
        self._open = False

    def renew(self) -> None:
        """Set it aside, again if need be. Raises `BudgetSpent` when it does not fit."""
        if not self._open:
            self._meter._take(self._dollars)
            self._open = True

    def settle(self, used: ServiceUsage) -> None:
        """Replace it by what was used; where that has no dollars, the cap takes the worst case."""
        self._close(used, charged=self._dollars if used.dollars is None else used.dollars)

    def lose(self) -> None:
        """The answer was lost: the cap treats the request as charged in full."""
        self._close(ServiceUsage(unanswered=1), charged=self._dollars)

    def release(self) -> None:
        """Nothing was charged, or it is settled."""
        if self._open:
            self._close(ServiceUsage(), charged=0.0)

    def _close(self, used: ServiceUsage, *, charged: float) -> None:
        self._open = False
        self._meter._give(self._dollars, used=used, charged=charged)


def parse_dollars(text: str) -> float:
    """Return the dollars of a text like `$2` or `$0.50`; `UsageError` where it names none."""
    if not re.fullmatch(r"\$" + _AMOUNT, text):
        raise UsageError(f"\"{text}\": not an amount in dollars; write it like '$2' or '$0.50'")
    dollars = float(text[1:])
    if dollars == 0:
        raise UsageError(f"{text}: a spending cap must be above 0")
    return dollars


def parse_price(text: str) -> Price:
    """Return the price of `INPUT/OUTPUT[/READ[/WRITTEN/WRITTEN_HOUR]]`, dollars per million tokens.

    What is left out costs as much as input does. `UsageError` on anything else.
    """
    parts = text.split("/")
    if len(parts) not in (2, 3, 5) or not all(re.fullmatch(_AMOUNT, part) for part in parts):
        raise UsageError(
            f'"{text}": not a price; write dollars per million tokens like 1/5 or 1/5/0.1/1.25/2'
        )
    amounts = [float(part) for part in parts]
    rest = amounts[2:] + [amounts[0]] * (5 - len(amounts))
    return Price(amounts[0], amounts[1], *rest)
