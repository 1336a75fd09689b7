"""What a build says of its second pass, in which chunks are embedded."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from crx._cli.output import print_note
from crx._cli.progress import format_duration
from crx.errors import CrxError
from crx.ingest.file_pass import rows_by_file
from crx.labels import count_label

if TYPE_CHECKING:
    from crx._index.handle import Index
    from crx.ingest.report import Progress

# Pending chunks from which the speed of an embedder is worth a probe: fewer take seconds.
_MIN_FOR_PROBE = 128
# Seconds that the second pass takes at least before it is announced.
_MIN_ANNOUNCED_S = 5.0

NEXT_STEP = '"crx embed" goes on'


class SecondPass:
    """The progress of a build, which is passed on, and the lines about its second pass."""

    def __init__(self, index: Index, *, quiet: bool = False) -> None:
        self._index = index
        self._quiet = quiet
        self._started = time.monotonic()
        # Chunks that had their vector before; those of this pass.
        self._before = 0
        self._done = self._total = 0
        self._begun = False

    def watch(self, show: Callable[[Progress], None]) -> Callable[[Progress], None]:
        """Return a function that notes a progress and passes it on."""

        def note(progress: Progress) -> None:
            if progress.step == "embed":
                self._done, self._total = progress.chunks_done, progress.chunks_total
                if not self._begun:
                    self._begin(is_build=bool(progress.found))
            show(progress)

        return note

    def _begin(self, *, is_build: bool) -> None:
        """Say what a build made searchable, and how long the vectors take, unless it is soon."""
        self._begun = True
        self._before = max(0, self._index.store.stats()["chunks"] - self._total)
        taken = time.monotonic() - self._started
        if self._quiet or not is_build:
            return
        pending = self._total - self._done
        if line := describe_vectors(self._index, probe=pending >= _MIN_FOR_PROBE):
            files = count_label(len(rows_by_file(self._index.store.documents())), "file")
            print_note(f"{files} can be searched by words ({taken:.1f} s); {line}")

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Say what works if the second pass is interrupted or fails."""
        try:
            yield
        except KeyboardInterrupt:
            if not self._begun:
                raise
            raise KeyboardInterrupt(f"interrupted; {self._describe()}") from None
        except CrxError:
            if self._begun and not self._quiet:
                print_note(self._describe())
            raise

    def _describe(self) -> str:
        done, total = self._before + self._done, self._before + self._total
        share = f"{done:,} of {total:,} chunks by vectors"
        return f"all documents can be searched by words, {share}; {NEXT_STEP}"


def describe_vectors(index: Index, *, probe: bool) -> str:
    """Return how long the vectors take, "" if that is not worth a line."""
    from crx._cli.embedder_speed import estimate_seconds  # most passes embed nothing

    seconds = estimate_seconds(index.embedder, index.store.stats(), probe=probe)
    if seconds is None or seconds < _MIN_ANNOUNCED_S:
        return ""
    return f"vectors: about {format_duration(seconds)} on this machine"
