"""Progress of long commands on stderr: a bar, lines of text, or lines of JSON."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from crx._cli.output import display_path, print_json_line, print_note

if TYPE_CHECKING:
    from crx._context.report import ContextProgress
    from crx.ingest.report import Progress

Form = Literal["auto", "bar", "plain", "json", "none"]
FORMS: tuple[Form, ...] = ("auto", "bar", "plain", "json", "none")
# A line for each file, which only a build can print.
_BuildForm = Form | Literal["files"]
_Now = TypeVar("_Now", "Progress", "ContextProgress")
_Item = TypeVar("_Item")

# Seconds between two lines.
PLAIN_EVERY_S = 5.0
JSON_EVERY_S = 1.0
# Seconds over which the speed is measured: longer than the embedding of one queue of chunks, so
# that the reading between two queues counts.
_SPEED_OVER_S = 60.0
# Seconds before a remaining time is worth showing.
_SETTLED_AFTER_S = 3.0


class _View(NamedTuple):
    """One moment of a run as it is shown: chunks done of `total`, seconds left, the rest of it."""

    done: int
    total: int
    text: str


class Clock:
    """Remaining time of a run from the speed of its last minute."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._seen: deque[tuple[float, int]] = deque()

    def seconds_left(self, done: int, total: int) -> float | None:
        """Note how far the run is; return the seconds that are left, None before that is known."""
        moment = self._now()
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()  # the next step of the run, with a speed of its own
        self._seen.append((moment, done))
        while len(self._seen) > 2 and moment - self._seen[0][0] > _SPEED_OVER_S:
            self._seen.popleft()
        began, then = self._seen[0]
        if moment - began < _SETTLED_AFTER_S or done <= then:
            return None
        return (moment - began) / (done - then) * (total - done)


def show_build(
    form: _BuildForm = "auto", *, as_json: bool = False
) -> AbstractContextManager[Callable[[Progress], None]]:
    """Show the progress of a build on stderr, in the given form.

    `auto` is a bar on a terminal; elsewhere lines, of JSON if the answer is JSON. `files` is a line
    for each file but those that are unchanged.
    """
    if form == "files":
        return nullcontext(_name_files())
    clock = Clock()
    return _show(form, lambda now: build_view(now, clock), as_json=as_json)


def _name_files() -> Callable[[Progress], None]:
    """Return a function that names each document with what became of it, when it is finished."""
    named = 0

    def name(now: Progress) -> None:
        nonlocal named
        if now.documents > named:
            named = now.documents
            if now.outcome != "unchanged":
                print_note(f"{now.outcome} {display_path(now.uri)}")

    return name


def show_contexts(
    form: Form = "auto", *, as_json: bool = False
) -> AbstractContextManager[Callable[[ContextProgress], None]]:
    """Show on stderr how far contexts are made, likewise."""
    return _show(form, contexts_view, as_json=as_json)


def build_view(now: Progress, clock: Clock) -> _View:
    """Return one moment of a build: chunks read, then chunks embedded, of those there will be."""
    left = clock.seconds_left(now.chunks_done, now.chunks_total)
    reading = now.documents < now.found
    about = "about " if reading else ""
    done = "read" if now.step == "read" else "embedded"
    parts = [f"{now.chunks_done:,} of {about}{now.chunks_total:,} chunks {done}"]
    if left is not None:
        parts.append(f"about {format_duration(left)} left")
    if reading:
        parts.append(f"{now.documents:,} of {now.found:,} files read")
    if now.failed:
        parts.append(f"{now.failed:,} failed")
    return _View(now.chunks_done, now.chunks_total, ", ".join(parts))


def contexts_view(now: ContextProgress) -> _View:
    """Return one moment of a run that makes contexts."""
    parts = [f"{now.done:,} of {now.total:,} contexts"]
    if now.seconds_left is not None:
        parts.append(f"about {format_duration(now.seconds_left)} left")
    parts.append(f"{now.per_second:.1f} a second")
    if now.tokens_reused:
        parts.append(f"{now.tokens_reused:,} tokens reused")
    if now.usage and now.usage.dollars is not None:
        parts.append(f"${now.usage.dollars:.2f}")
    return _View(now.done, now.total, ", ".join(parts))


def format_duration(seconds: float) -> str:
    """Return a time in two digits or so: "40 s", "17 min", "3 h 20 min"."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def _show(
    form: Form, view: Callable[[_Now], _View], *, as_json: bool
) -> Iterator[Callable[[_Now], None]]:
    if form == "auto":
        form = "bar" if sys.stderr.isatty() else "json" if as_json else "plain"
    if form == "none":
        yield lambda _: None
    elif form == "bar":
        # Imported here: rich takes 50 ms, and most runs have no terminal.
        from crx._cli.progress_bar import open_bar

        with open_bar() as draw:
            yield lambda now: draw(*view(now))
    elif form == "json":
        yield _every(JSON_EVERY_S, lambda now: print_json_line({"progress": asdict(now)}))
    else:
        print_view = _every(PLAIN_EVERY_S, _print_view)
        yield lambda now: print_view(view(now))


def _print_view(view: _View) -> None:
    print_note(view.text)


def _every(seconds: float, show: Callable[[_Item], None]) -> Callable[[_Item], None]:
    """Return a function that shows what it is given, but not more often than that."""
    last = time.monotonic()

    def limited(item: _Item) -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            last = time.monotonic()
            show(item)

    return limited
