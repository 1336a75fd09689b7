"""The file that a document was read from, sent only while it is the one that was indexed.

An id leads to the path that the index has for its document, and the bytes are compared with the
hash of those that were read: a link that was put there, or a changed file, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from urllib.parse import quote

import orjson
from starlette.responses import Response

from crx import _native
from crx.errors import NotFound
from crx.ingest.regular_file import read_indexed_file

# What a browser shows. Of other files it keeps a copy, which no page of this server can use.
_SHOWN = {
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".html": "text/html; charset=utf-8",
    ".htm": "text/html; charset=utf-8",
    ".xhtml": "text/html; charset=utf-8",
}
_TEXT = "text/plain; charset=utf-8"
# A page of the documents has no origin, no scripts and loads nothing; its own styles apply. A PDF
# is shown by the browser's viewer, which a sandbox would not let start.
_CONFINED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
_SANDBOX = f"sandbox; {_CONFINED}"


def original_url(document_id: str, row: _native.DocumentRow) -> str:
    """Return the URL of what a document was read from: a web page, a file, or "" for neither."""
    if row.uri.startswith(("https://", "http://")):
        return row.uri
    return f"/original/{document_id}" if _path(row) else ""


def read_original(row: _native.DocumentRow, *, is_text: bool) -> Response:
    """Return the file of a document; raises `NotFound` if there is none or it has changed.

    `is_text` is true if the file is text as it was indexed.
    """
    path = _path(row)
    if not path:
        raise NotFound(f"{row.uri}: was read from no file")
    data = read_indexed_file(path, size=row.source_size, source_hash=row.source_hash)
    suffix = PurePosixPath(path).suffix.lower()
    media_type = _TEXT if is_text else _SHOWN.get(suffix, "application/octet-stream")
    return Response(data, headers=_headers(path, media_type))


def _path(row: _native.DocumentRow) -> str:
    """Return the URI of the file that a document was read from, "" if it was read from none."""
    path = orjson.loads(row.metadata).get("path")
    return path if isinstance(path, str) and path.startswith("/") else ""


def _headers(path: str, media_type: str) -> Mapping[str, str]:
    kind = "attachment" if media_type == "application/octet-stream" else "inline"
    name = quote(PurePosixPath(path).name, safe="", errors="replace")
    is_pdf = media_type == "application/pdf"
    return {
        "content-type": media_type,
        "content-disposition": f"{kind}; filename*=UTF-8''{name}",
        "content-security-policy": _CONFINED if is_pdf else _SANDBOX,
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
    }
