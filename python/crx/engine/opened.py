"""An index in a database as `Index` opens it: searching goes on, what needs a folder is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn

from crx import _native
from crx.derived import Writer
from crx.engine.copy import open_engine
from crx.engine.legs import make_searcher
from crx.engine.protocol import Engine
from crx.errors import NotAnIndex, UsageError
from crx.retrieve.search import Searcher


class OpenEngine:
    """What `Index` keeps open; the counterpart of `derived.OpenFiles`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @staticmethod
    def open(url: str) -> OpenEngine:
        """Open an index; raises `NotAnIndex` if the database holds none."""
        opened = OpenEngine(open_engine(url))
        try:
            opened.settings()
        except BaseException:
            opened.close()
            raise
        return opened

    @property
    def store(self) -> _native.Store:
        """Raise `UsageError`: there is no store on this machine."""
        self._refuse()

    @property
    def derived(self) -> OpenEngine:
        """What searches: the database does it itself."""
        return self

    def settings(self) -> dict[str, str]:
        """Return the settings that the index was built with."""
        settings = self._engine.settings()
        if not settings:
            name = self._engine.name
            raise NotAnIndex(f'{name}: holds no index; "crx copy INDEX {name}" makes one')
        return settings

    @contextlib.contextmanager
    def searching(self) -> Iterator[tuple[Searcher, list[str]]]:
        """Give the last committed state for a search, and notes on what it lacks."""
        with self._engine.snapshot() as snapshot:
            pending = snapshot.stats().pending
            notes = [f"{pending} chunks have no vector; only BM25 finds them"] if pending else []
            yield make_searcher(snapshot), [*snapshot.missing, *notes]

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        """Raise `UsageError`: documents are indexed in a folder and copied."""
        self._refuse()
        yield

    def rebuild(self) -> None:
        """Raise `UsageError`: a database has no derived files."""
        self._refuse()

    def close(self) -> None:
        """Close the connections."""
        self._engine.close()

    def _refuse(self) -> NoReturn:
        raise UsageError(
            f"{self._engine.name}: this needs an index folder; work on one, and carry it over with "
            '"crx copy"'
        )
