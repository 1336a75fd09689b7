"""An index on several PostgreSQL servers: each document is whole on one of them, by a hash.

The servers know nothing of each other. crx asks all of them at once, adds up their statistics and
merges their best k chunks, so that scores are those of one server.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from crx.errors import Incompatible, SystemFailure
from crx_engines.engine.protocol import StoredDocument, digest_of
from crx_engines.postgres.connection import DatabaseAddress, name_of, parse_addresses
from crx_engines.postgres.engine import PostgresEngine
from crx_engines.postgres.sharded_snapshot import ShardedSnapshot
from crx_engines.postgres.snapshot import PostgresSnapshot

_T = TypeVar("_T")

# Threads for each server: statements that wait for it at the same time.
_THREADS = 8


def open_database(url: str) -> PostgresEngine | ShardedEngine:
    """Return the engine of a URL that names one server or several."""
    servers = parse_addresses(url)
    return PostgresEngine(servers[0]) if len(servers) == 1 else ShardedEngine(servers)


class ShardedEngine:
    """An index on several servers; see `protocol.Engine`.

    A transaction is on one server, so that a reader sees whole documents, and each server in a
    committed state; the states of two servers may be of different moments.
    """

    def __init__(self, servers: Sequence[DatabaseAddress]) -> None:
        """The order of the servers is part of the index: it decides where a document is."""
        count = len(servers)
        self._servers = tuple(servers)
        self._shards = tuple(
            PostgresEngine(replace(server, skips_missing=False), shard=f"{at} of {count}")
            for at, server in enumerate(servers, 1)
        )
        self._threads = ThreadPoolExecutor(_THREADS * count, thread_name_prefix="crx-shard")

    @property
    def name(self) -> str:
        """The URL without a password."""
        return name_of(self._servers)

    def settings(self) -> dict[str, str]:
        """Return the settings of the index; empty if there is none yet.

        Servers without tables count for nothing: a copy that was interrupted may have left them.
        """
        answers, _ = self._ask(PostgresEngine.settings)
        found = [each for each in answers.values() if each]
        if any(each != found[0] for each in found):
            raise Incompatible(
                f"{self.name}: its servers hold parts of different indexes; copy to another schema"
            )
        return found[0] if found else {}

    def create(self, settings: Mapping[str, str]) -> None:
        """Make the tables of each server, and record settings where there are none."""
        self._on_each(lambda shard: shard.create(settings))

    def set_settings(self, settings: Mapping[str, str]) -> None:
        """Set some settings on each server; all others stay. An empty text removes one."""
        self._on_each(lambda shard: shard.set_settings(settings))

    def upsert(self, documents: Sequence[StoredDocument]) -> int:
        """Put documents, a few in each transaction of a server; return how many were not there.

        If a server is down, those of the others are put before the error is raised.
        """
        parts: dict[int, list[StoredDocument]] = {}
        for document in documents:
            parts.setdefault(self._shard_of(document.uri), []).append(document)
        futures = [
            self._threads.submit(self._shards[at].upsert, part) for at, part in parts.items()
        ]
        return sum(_results(futures))

    def delete(self, uris: Sequence[str]) -> int:
        """Remove documents; return how many there were."""
        parts: dict[int, list[str]] = {}
        for uri in uris:
            parts.setdefault(self._shard_of(uri), []).append(uri)
        futures = [
            self._threads.submit(self._shards[at].delete, part) for at, part in parts.items()
        ]
        return sum(_results(futures))

    def publish(self) -> None:
        """Fold the sums of each server, and gather what its planner needs to know."""
        self._on_each(PostgresEngine.publish)

    def build_graph(self) -> None:
        """Build an HNSW graph of the vectors on each server."""
        self._on_each(PostgresEngine.build_graph)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[ShardedSnapshot]:
        """Give the last committed state of each server.

        A server that is down raises `SystemFailure`, or is left out if the URL says so.
        """
        answers, lost = self._ask(_enter_snapshot)
        with contextlib.ExitStack() as stack:
            for entered, _ in answers.values():
                stack.push(entered)
            yield ShardedSnapshot(
                {at: snapshot for at, (_, snapshot) in answers.items()},
                shard_of=self._shard_of,
                count=len(self._shards),
                threads=self._threads,
                missing=tuple(f"{each}; its documents are not in this answer" for each in lost),
            )

    def close(self) -> None:
        """Close the connections."""
        self._threads.shutdown()
        for shard in self._shards:
            shard.close()

    def _shard_of(self, uri: str) -> int:
        """Return the index of the server of a document."""
        return int.from_bytes(digest_of(uri.encode())[:8], "little") % len(self._shards)

    def _on_each(self, work: Callable[[PostgresEngine], None]) -> None:
        _results([self._threads.submit(work, shard) for shard in self._shards])

    def _ask(
        self, work: Callable[[PostgresEngine], _T]
    ) -> tuple[dict[int, _T], list[BaseException]]:
        """Return the answers of the servers, by index, and the errors of those that are left out.

        If one may not be left out, its error is raised, and snapshots that others gave are closed.
        """
        futures = [self._threads.submit(work, shard) for shard in self._shards]
        errors = [error for each in futures if (error := each.exception()) is not None]
        answers = {at: each.result() for at, each in enumerate(futures) if not each.exception()}
        are_down = all(isinstance(error, SystemFailure) for error in errors)
        if errors and not (answers and are_down and self._servers[0].skips_missing):
            for answer in answers.values():
                if isinstance(answer, tuple):
                    answer[0].close()
            raise errors[0]
        return answers, errors


def _enter_snapshot(shard: PostgresEngine) -> tuple[contextlib.ExitStack, PostgresSnapshot]:
    """Return a snapshot of a server, and what ends it."""
    stack = contextlib.ExitStack()
    return stack, stack.enter_context(shard.snapshot())


def _results(futures: Sequence[Future[_T]]) -> list[_T]:
    """Wait for all, then return their results or raise the first error."""
    errors = [error for each in futures if (error := each.exception()) is not None]
    if errors:
        raise errors[0]
    return [each.result() for each in futures]
