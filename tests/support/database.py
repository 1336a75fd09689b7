"""Statements on the database of an index, run without crx."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_RUN = """
import json, sqlite3, sys
db = sqlite3.connect(f"{sys.argv[1]}/crx.db")
with db:
    rows = db.execute(sys.argv[2]).fetchall()
db.close()
print(json.dumps(rows))
"""


def run_sql(folder: Path, statement: str) -> list[tuple[object, ...]]:
    """Run a statement in a process of its own and return its rows.

    Two libraries of SQLite must not open one file in the same process: each closes it without
    knowing of the other, and the last to close it deletes the log that the other reads.
    """
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(folder), statement],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    return [tuple(row) for row in json.loads(done.stdout)]
