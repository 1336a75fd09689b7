"""Mutual exclusion of the writers of an index: Milvus has no locks.

A writer raises a flag, which is a row, and then looks for those of others; if there is one, it
lowers its own and tries again later. Of two that raise theirs at the same time at least one sees
the other, because reads see all that was written before them; so that two never write. A writer
that works raises a new flag before it lowers the one before, every few seconds. A flag that stays
the same for `EXPIRY_S`, by the clock of the one who waits, is of a writer that ended without
lowering it, and is removed. In Milvus Lite all writers are in one process and take a lock of it.
"""

from __future__ import annotations

import contextlib
import random
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic, sleep

from crx.errors import Locked
from crx_engines.milvus.committed_state import FLAG, state_key, state_row
from crx_engines.milvus.milvus_collections import STATE
from crx_engines.milvus.milvus_connection import MilvusConnection

EXPIRY_S = 60.0
_RENEW_S = 10.0
_POLL_S = (0.05, 0.2)


@contextlib.contextmanager
def writing(connection: MilvusConnection) -> Iterator[WriterFlag | None]:
    """Wait until no other writes, and keep others out; gives None if a lock does it.

    Raises `Locked` if others write for longer than a request may take and a flag may be left.
    """
    if connection.lite is not None:
        with connection.lite.writing:
            yield None
        return
    flag = WriterFlag(connection)
    flag.raise_alone()
    try:
        yield flag
    finally:
        flag.lower()


@dataclass(frozen=True, slots=True)
class _Sighting:
    """The flags of others, and since when they are the same."""

    keys: frozenset[int]
    since: float


class WriterFlag:
    """The flag of one writer."""

    def __init__(self, connection: MilvusConnection) -> None:
        self._connection = connection
        self._owner = secrets.token_hex(16)
        self._beat = 0
        self._raised_at = 0.0

    def raise_alone(self) -> None:
        """Raise the flag once there is no other."""
        until = monotonic() + EXPIRY_S + self._connection.address.timeout_s
        seen = _Sighting(frozenset(), 0.0)
        while True:
            self._raise()
            others = self._others()
            if not others:
                return
            self.lower()
            now = monotonic()
            if others != seen.keys:
                seen = _Sighting(others, now)
            elif now - seen.since > EXPIRY_S:
                self._connection.delete(STATE, f"key in {sorted(others)}")
            if now > until:
                raise Locked(
                    f"{self._connection.address.name}: others are writing; try again later"
                )
            sleep(random.uniform(*_POLL_S))

    def renew(self) -> None:
        """Show that the writer works; raises `Locked` if another took it for dead."""
        if monotonic() - self._raised_at > _RENEW_S:
            self.check()
            before = self._key()
            self._beat += 1
            self._raise()
            self._connection.delete(STATE, f"key in [{before}]")

    def check(self) -> None:
        """Raise `Locked` if another writer removed the flag."""
        if not self._connection.get(STATE, "key", [self._key()], fields=["key"]):
            raise Locked(
                f"{self._connection.address.name}: another writer went on after a pause of this "
                "one; run the command again"
            )

    def lower(self) -> None:
        """Remove the flag."""
        self._connection.delete(STATE, f"key in [{self._key()}]")

    def _key(self) -> int:
        return state_key(FLAG, f"{self._owner} {self._beat}")

    def _raise(self) -> None:
        row = state_row(FLAG, f"{self._owner} {self._beat}", body=self._owner)
        self._connection.insert(STATE, [row])
        self._raised_at = monotonic()

    def _others(self) -> frozenset[int]:
        rows = self._connection.query(STATE, f'kind == "{FLAG}"', fields=["key", "body"])
        return frozenset(row["key"] for row in rows if row["body"] != self._owner)
