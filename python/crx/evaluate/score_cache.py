"""What a reranker said, on disk beside an evaluation's index: a run that was stopped goes on.

A score is found by a digest of the reranker's fingerprint, the question and the situated text. No
question and no text is in the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from crx.errors import Damaged, NoRoom

NAME = "scores.db"
# SQLite takes 32,766 parameters in a statement; a question has some 150 candidates.
_ASKED_AT_ONCE = 10_000
_TABLES = """
CREATE TABLE IF NOT EXISTS score (key BLOB PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spent (
    fingerprint TEXT PRIMARY KEY, seconds REAL NOT NULL, texts INTEGER NOT NULL
);
"""


class StoredScores:
    """A file of scores and of what they took, made where there is none.

    Every method raises `Damaged` for a file that is no such one, `NoRoom` where it cannot be
    written.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        with self._faults():
            self._db = sqlite3.connect(file)
            self._db.executescript(_TABLES)

    def __enter__(self) -> StoredScores:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db.close()

    def find(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """Return the scores that are kept, by key."""
        found: dict[bytes, float] = {}
        with self._faults():
            for start in range(0, len(keys), _ASKED_AT_ONCE):
                part = keys[start : start + _ASKED_AT_ONCE]
                marks = ",".join("?" * len(part))
                statement = f"SELECT key, value FROM score WHERE key IN ({marks})"
                found |= dict(self._db.execute(statement, part))
        return found

    def keep(self, fingerprint: str, scores: Mapping[bytes, float], *, seconds: float) -> None:
        """Add scores and the time that they took together; durable when this returns."""
        with self._faults(), self._db:
            self._db.executemany("INSERT OR REPLACE INTO score VALUES (?, ?)", scores.items())
            self._db.execute(
                "INSERT INTO spent VALUES (?, ?, ?) ON CONFLICT (fingerprint) DO UPDATE SET "
                "seconds = seconds + excluded.seconds, texts = texts + excluded.texts",
                (fingerprint, seconds, len(scores)),
            )

    def spent(self, fingerprint: str) -> tuple[float, int]:
        """Return the seconds and the texts of all scores of a reranker."""
        query = "SELECT seconds, texts FROM spent WHERE fingerprint = ?"
        with self._faults():
            row = self._db.execute(query, (fingerprint,)).fetchone()
        return row or (0.0, 0)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise NoRoom(f"{self._file}: {error}; make room, then run the same command") from error
        except sqlite3.DatabaseError as error:
            raise Damaged(f"{self._file}: {error}; delete it, and scores are made anew") from error
