"""Documents of the contract suite, in two languages, and the settings of their index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from crx.config import fixed_settings, resolve
from crx_engines.engine.protocol import StoredChunk, StoredContext, StoredDocument, digest_of

_DIMENSIONS = 16
_PARAGRAPHS = (
    "The server answers a search within a second.\nIt keeps vectors in memory.",
    "An index holds chunks, postings and vectors of documents.",
    "A search of the index is answered by two legs, BM25 and vectors.",
    "Whales eat krill. The blue whale is the largest animal.\n",
)
_CHINESE = ("龙头山位于云南省东北部，海拔两千八百米。", "地震以后，政府用三年时间修复了寺庙。")


def make_settings() -> dict[str, str]:
    """Return the settings of an index of the documents."""
    return fixed_settings(resolve({"embedder": f"hashed:d={_DIMENSIONS}"}).settings)


def make_documents() -> list[StoredDocument]:
    """Return documents in two languages, with contexts, vectors, marks and metadata."""
    english = [
        _make_document(
            f"notes/{at}.md",
            title=f"Note {at}",
            lang="en",
            paragraphs=_PARAGRAPHS[at:] + _PARAGRAPHS[:at],
            metadata={
                "year": 2010 + at,
                "tags": ["page", f"n{at % 3}"],
                "draft": at % 2 == 0,
                "author": ["Ola Nord", "Kim West"][at % 2],
                "format": "markdown" if at else "text",
                **({"type": "memo"} if at == 1 else {}),
                **({"from": f"{at}@example.org"} if at < 3 else {}),
            },
        )
        for at in range(4)
    ]
    chinese = _make_document(
        "notes/zh.md#part",
        title="龙头山",
        lang="zh",
        paragraphs=_CHINESE,
        metadata={"year": 2014, "place": {"province": "云南"}},
    )
    return [*english, chinese]


def _make_document(
    uri: str, *, title: str, lang: str, paragraphs: Sequence[str], metadata: dict[str, Any]
) -> StoredDocument:
    text = f"# {title}\n\n"
    tokens = 0
    chunks = []
    for at, paragraph in enumerate(paragraphs):
        start, words = len(text), len(paragraph.split())
        text += f"{paragraph}\n\n"
        key = digest_of(uri.encode(), paragraph.encode())
        chunks.append(
            StoredChunk(
                start=start,
                end=start + len(paragraph),
                token_start=tokens,
                token_end=tokens + words,
                section=at // 2,
                outline=title,
                context=StoredContext(key, "fake:", "ok", f"Of {title}, {at}.") if at % 2 else None,
                vector_key=key,
                vector=None if at == 3 else make_vector(key),
            )
        )
        tokens += words
    marks = [{"kind": "page", "start": 0, "end": len(text) // 2, "label": "1"}]
    return StoredDocument(
        uri=uri,
        title=title,
        lang=lang,
        metadata=orjson.dumps(metadata).decode(),
        source_hash=digest_of(text.encode()),
        source_size=len(text.encode()),
        source_mtime_ns=1_700_000_000_000_000_000,
        text=text,
        marks=orjson.dumps(marks).decode(),
        chunks=tuple(chunks),
    )


def make_vector(key: bytes) -> NDArray[np.float16]:
    """Return the unit vector of a key."""
    row = np.random.default_rng(list(key)).standard_normal(_DIMENSIONS)
    return (row / np.linalg.norm(row)).astype(np.float16)
