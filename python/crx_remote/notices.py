"""Lines for a person who waits for a service: failures that are retried, and slow answers."""

from __future__ import annotations

from collections.abc import Callable

from crx_remote.errors import TransientError

# Seconds without output after which a person is told that the service is slow: within five after
# the command began, which takes up to three on a busy machine to send its first request.
SLOW_S = 2.0


class ServiceNotices:
    """Calls a function with a line about each kind of failure, and about a service that is slow.

    A service is not slow any more once it has failed, or has been told to be.
    """

    def __init__(self, service: str, on_notice: Callable[[str], None]) -> None:
        self._service = service
        self._on_notice = on_notice
        self._told: set[str] = set()

    def tell_retry(self, error: TransientError) -> None:
        """Tell a failure, unless one of its kind was told; what follows a colon is no kind."""
        kind = str(error).partition(":")[0]
        if kind not in self._told:
            self._told.add(kind)
            named = str(error) if error.unreachable else f"{self._service}: {error}"
            self._on_notice(f"{named}; trying again")

    def tell_slow(self, seconds: float) -> None:
        """Tell that nothing was received for some seconds, unless anything was told before."""
        if not self._told:
            self._told.add("slow")
            self._on_notice(f"{self._service}: nothing received for {seconds:.0f} s yet")


def ignore_notice(notice: str) -> None:
    """Tell nobody."""
