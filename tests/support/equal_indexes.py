"""Everything that two indexes of the same documents have in common, read without crx."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

# In a process of its own: two libraries of SQLite must not open one file in the same.
_READ = """
import json, sqlite3, sys
tables = {}
with sqlite3.connect(f"file:{sys.argv[1]}/crx.db?mode=ro", uri=True) as db:
    for table in ("setting", "body", "piece", "document", "chunk", "context", "vector"):
        tables[table] = sorted(map(repr, db.execute(f"SELECT * FROM {table}")))
print(json.dumps(tables))
"""


def read_tables(folder: Path) -> dict[str, list[str]]:
    """Return the rows of a closed index, vectors among them, sorted by table.

    Only the order of commits is left out, which changes nothing in an answer.
    """
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(folder)], capture_output=True, check=True, text=True
    )
    tables: dict[str, list[str]] = json.loads(done.stdout)
    return tables
