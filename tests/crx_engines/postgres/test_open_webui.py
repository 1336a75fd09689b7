"""The view that the guide makes for Open WebUI, asked as its client asks."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import crx
from crx_engines.folder.copy import copy_documents, open_engine
from crx_engines.postgres.connection import Connection, parse_addresses

GUIDE = Path(__file__).parents[3] / "docs" / "engines" / "postgresql.md"
# The statement of Open WebUI, with its defaults for the names of fields.
STATEMENT = """
SELECT id, text AS content, vmetadata AS metadata, vector <=> CAST(:query AS vector) AS distance
FROM crx.open_webui WHERE collection_name = :name ORDER BY distance ASC LIMIT 3
"""


def test_open_webui_finds_the_chunks_that_the_dense_leg_finds(
    folder: Path, new_database: Callable[[], str]
) -> None:
    url = new_database()
    with contextlib.closing(open_engine(url)) as copy:
        copy_documents(open_engine(str(folder)), copy)
    (view,) = re.findall(r"```sql\n(CREATE VIEW .*?)```", GUIDE.read_text(), re.DOTALL)
    connection = Connection(parse_addresses(url)[0])
    connection.run_script(view)
    with crx.open(folder, create=False) as index:
        hits = index.search("PostgreSQL and Milvus", legs=["dense"], rerank=False, k=3).hits
        (vector,) = index.embedder.embed(["PostgreSQL and Milvus"], query=True)
    found = connection.run(STATEMENT, query=str(vector.tolist()), name="crx")
    connection.close()
    assert [metadata["source"] for _, _, metadata, _ in found] == [hit.uri for hit in hits]
    assert all(hit.text in text for hit, (_, text, _, _) in zip(hits, found, strict=True))
