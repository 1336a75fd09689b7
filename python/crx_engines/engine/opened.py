"""An index in a database as `Index` opens it: searching goes on, what needs a folder is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from crx.errors import NotAnIndex
from crx_engines.engine.connect import connect
from crx_engines.engine.legs import EngineSearcher, make_searcher
from crx_engines.engine.protocol import Engine


class OpenEngine:
    """What `Index` keeps open; the counterpart of `_index.files.OpenFiles`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def settings(self) -> dict[str, str]:
        """Return the settings that the index was built with."""
        settings = self._engine.settings()
        if not settings:
            name = self._engine.name
            raise NotAnIndex(f'{name}: holds no index; "crx copy INDEX {name}" makes one')
        return settings

    @contextlib.contextmanager
    def searching(self) -> Iterator[tuple[EngineSearcher, list[str]]]:
        """Give the last committed state for a search, and notes on what it lacks."""
        with self._engine.snapshot() as snapshot:
            pending = snapshot.stats().pending
            notes = [f"{pending} chunks have no vector; only BM25 finds them"] if pending else []
            yield make_searcher(snapshot), [*snapshot.missing, *notes]

    def close(self) -> None:
        """Close the connections."""
        self._engine.close()


def open_address(url: str) -> OpenEngine:
    """Open an index; raises `NotAnIndex` if the database holds none."""
    opened = OpenEngine(connect(url))
    try:
        opened.settings()
    except BaseException:
        opened.close()
        raise
    return opened
