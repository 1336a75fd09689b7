"""File of reranker scores beside an evaluation's index, so that an interrupted run can continue.

Scores are stored under a digest of the reranker's fingerprint, the question and the situated text.
The file contains neither questions nor texts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from crx.errors import Damaged, NoRoom

SCORES_FILE = "scores.db"
# SQLite allows 32,766 parameters in a statement.
_KEYS_PER_QUERY = 10_000
_TABLES = """
CREATE TABLE IF NOT EXISTS score (key BLOB PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS speed (
    fingerprint TEXT PRIMARY KEY,
    seconds REAL NOT NULL,
    texts INTEGER NOT NULL,
    characters INTEGER NOT NULL
);
"""


class TimeSpent(NamedTuple):
    """The seconds that scores took, and the texts and the characters of their pairs."""

    seconds: float
    texts: int
    characters: int


class ScoreFile:
    """A file of scores and of the time they took; it is created if it does not exist.

    Every method raises `Damaged` if the file is not such a file, `NoRoom` if it cannot be written.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        with self._translate_errors():
            self._db = sqlite3.connect(file)
            self._db.executescript(_TABLES)

    def __enter__(self) -> ScoreFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db.close()

    def find(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """Return the stored scores by key."""
        found: dict[bytes, float] = {}
        with self._translate_errors():
            for start in range(0, len(keys), _KEYS_PER_QUERY):
                batch = keys[start : start + _KEYS_PER_QUERY]
                placeholders = ",".join("?" * len(batch))
                statement = f"SELECT key, value FROM score WHERE key IN ({placeholders})"
                found |= dict(self._db.execute(statement, batch))
        return found

    def add(
        self, fingerprint: str, scores: Mapping[bytes, float], *, seconds: float, characters: int
    ) -> None:
        """Store scores, and the seconds and characters of all of them; durable on return."""
        with self._translate_errors(), self._db:
            self._db.executemany("INSERT OR REPLACE INTO score VALUES (?, ?)", scores.items())
            self._db.execute(
                "INSERT INTO speed VALUES (?, ?, ?, ?) ON CONFLICT (fingerprint) DO UPDATE SET "
                "seconds = seconds + excluded.seconds, texts = texts + excluded.texts, "
                "characters = characters + excluded.characters",
                (fingerprint, seconds, len(scores), characters),
            )

    def time_spent(self, fingerprint: str) -> TimeSpent:
        """Return what all scores of a reranker took; zeros if it has none."""
        query = "SELECT seconds, texts, characters FROM speed WHERE fingerprint = ?"
        with self._translate_errors():
            row = self._db.execute(query, (fingerprint,)).fetchone()
        return TimeSpent(*row) if row else TimeSpent(0.0, 0, 0)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise NoRoom(f"{self._file}: {error}; make room, then run the same command") from error
        except sqlite3.DatabaseError as error:
            raise Damaged(
                f"{self._file}: {error}; delete it, and the scores are computed again"
            ) from error
