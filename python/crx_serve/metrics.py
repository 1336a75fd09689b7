"""Counts and times of the server in the text format of Prometheus."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# Upper bounds of the buckets of a histogram, in seconds.
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Histogram:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))
    total_s: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.total_s += seconds

    def lines(self, name: str, labels: Labels) -> Iterable[str]:
        below = 0
        for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), self.counts, strict=True):
            below += count
            yield f"{name}_bucket{_labels((*labels, ('le', bound)))} {below}"
        yield f"{name}_sum{_labels(labels)} {self.total_s:.6f}"
        yield f"{name}_count{_labels(labels)} {below}"


class Metrics:
    """Counts of requests and times of requests and stages; any thread may add to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[Labels, int] = {}
        self._request_times: dict[Labels, _Histogram] = {}
        self._stage_times: dict[Labels, _Histogram] = {}
        self._in_progress = 0

    def begin_request(self) -> None:
        """Count a request in progress."""
        with self._lock:
            self._in_progress += 1

    def end_request(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered; `route` is the path with its parameters' names."""
        where: Labels = (("method", method), ("route", route))
        counted: Labels = (*where, ("status", str(status)))
        with self._lock:
            self._in_progress -= 1
            self._requests[counted] = self._requests.get(counted, 0) + 1
            self._request_times.setdefault(where, _Histogram()).add(seconds)

    def add_stages(self, index: str, timings_ms: Mapping[str, float]) -> None:
        """Add the times of the stages of one search."""
        with self._lock:
            for stage, milliseconds in timings_ms.items():
                labels: Labels = (("index", index), ("stage", stage))
                self._stage_times.setdefault(labels, _Histogram()).add(milliseconds / 1000)

    def lines(self) -> list[str]:
        """Return what was counted."""
        with self._lock:
            lines = _header("crx_requests_total", "counter", "Requests that were answered.")
            lines += [f"crx_requests_total{_labels(at)} {n}" for at, n in self._requests.items()]
            lines += _header("crx_requests_in_progress", "gauge", "Requests in progress.")
            lines.append(f"crx_requests_in_progress {self._in_progress}")
            for name, about, times in (
                ("crx_request_seconds", "Time to answer a request.", self._request_times),
                ("crx_stage_seconds", "Time of a stage of a search.", self._stage_times),
            ):
                lines += _header(name, "histogram", about)
                for labels, histogram in times.items():
                    lines += histogram.lines(name, labels)
            return lines


def gauge_lines(
    name: str, about: str, values: Iterable[tuple[Labels, float]], *, kind: str = "gauge"
) -> list[str]:
    """Return the lines of a metric with these values."""
    return [
        *_header(name, kind, about),
        *(f"{name}{_labels(labels)} {value:g}" for labels, value in values),
    ]


def _header(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in labels) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
