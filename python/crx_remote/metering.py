"""Prices of a paid service's tokens, and a meter of its requests with a cap on spending."""

from __future__ import annotations

import math
import re
import threading
from dataclasses import dataclass

from crx._services.service_usage import AMOUNT, ServiceUsage
from crx.errors import BudgetSpent, UsageError

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens of one model.

    `written` and `written_hour` are for tokens written to the prompt cache for five minutes and
    for an hour, `read` for tokens read from it. For a prompt of more than `long_from` tokens every
    price is multiplied by `long_factor`.
    """

    input: float
    output: float
    read: float
    written: float
    written_hour: float
    long_from: float = math.inf
    long_factor: float = 1.0

    def dollars(self, used: ServiceUsage, *, hour: bool = False, discount: float = 1.0) -> float:
        """Return the cost of one request; with `hour`, its cache entry is kept for an hour."""
        written = self.written_hour if hour else self.written
        cost = (
            used.input * self.input
            + used.written * written
            + used.read * self.read
            + used.output * self.output
        )
        factor = self.long_factor if used.prompt > self.long_from else 1.0
        return cost / _MILLION * discount * factor


class Meter:
    """A counter of usage with a cap in dollars.

    A request is admitted only if its worst-case cost fits under the cap beside the costs so far
    and the reservations in flight, so the cap is never exceeded. A request whose cost stays
    unknown counts at its worst case. Thread-safe.
    """

    def __init__(self, *, cap_dollars: float = math.inf) -> None:
        if not cap_dollars > 0:
            raise UsageError(f"${cap_dollars:g}: a spending cap must be above 0")
        self._cap = cap_dollars
        self._usage = ServiceUsage()
        self._reserved = 0.0
        self._charged = 0.0
        self._lock = threading.Lock()

    @property
    def usage(self) -> ServiceUsage:
        """The usage so far."""
        return self._usage

    def reserve(self, worst_dollars: float) -> Reservation:
        """Reserve the worst-case cost of a request; raise `BudgetSpent` if it does not fit."""
        reservation = Reservation(self, worst_dollars)
        reservation.renew()
        return reservation

    def prepaid(self) -> Reservation:
        """Return a reservation for a request that is already paid: counted despite the cap."""
        return Reservation(self, 0.0)

    def _reserve(self, dollars: float) -> None:
        with self._lock:
            if self._charged + self._reserved + dollars > self._cap:
                raise BudgetSpent(
                    f"${self._cap:g}: ${self._charged:.4f} is spent and the next request may cost "
                    f"${dollars:.4f}; raise the budget to go on"
                )
            self._reserved += dollars

    def _settle(self, dollars: float, *, used: ServiceUsage, charged: float) -> None:
        with self._lock:
            self._reserved -= dollars
            self._charged += charged
            self._usage += used


class Reservation:
    """The worst-case cost of one request, reserved until its actual cost is known."""

    def __init__(self, meter: Meter, dollars: float) -> None:
        self._meter = meter
        self._dollars = dollars
        self._open = False

    def renew(self) -> None:
        """Reserve the amount unless it is reserved; raise `BudgetSpent` if it does not fit."""
        if not self._open:
            self._meter._reserve(self._dollars)
            self._open = True

    def settle(self, used: ServiceUsage) -> None:
        """Replace the reservation by the actual usage; without dollars, by the worst case."""
        self._close(used, charged=self._dollars if used.dollars is None else used.dollars)

    def count_as_lost(self) -> None:
        """Count a request whose answer was lost at its worst case."""
        self._close(ServiceUsage(unanswered=1), charged=self._dollars)

    def release(self) -> None:
        """Cancel the reservation unless it is settled."""
        if self._open:
            self._close(ServiceUsage(), charged=0.0)

    def _close(self, used: ServiceUsage, *, charged: float) -> None:
        self._open = False
        self._meter._settle(self._dollars, used=used, charged=charged)


def parse_price(text: str) -> Price:
    """Parse `INPUT/OUTPUT[/READ[/WRITTEN/WRITTEN_HOUR]]` in dollars per million tokens.

    A price that is left out equals that of input. Raises `UsageError` for anything else.
    """
    parts = text.split("/")
    if len(parts) not in (2, 3, 5) or not all(re.fullmatch(AMOUNT, part) for part in parts):
        raise UsageError(
            f'"{text}": not a price; write dollars per million tokens like 1/5 or 1/5/0.1/1.25/2'
        )
    amounts = [float(part) for part in parts]
    rest = amounts[2:] + [amounts[0]] * (5 - len(amounts))
    return Price(amounts[0], amounts[1], *rest)
