"""A reader for BibTeX: one document an entry, with its fields as metadata."""

import re
from collections.abc import Iterator

from crx import Document, InputError

extensions = (".bib",)

_ENTRY = re.compile(r"^@(\w+)\s*\{\s*([^,\s]+)\s*,(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'(\w+)\s*=\s*(?:\{(.*?)\}|"(.*?)"|(\d+))\s*(?:,|$)', re.DOTALL)


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the entries; `InputError` says why there are none."""
    text = data.decode("utf-8", errors="replace")
    entries = _ENTRY.findall(text)
    if not entries:
        raise InputError("holds no BibTeX entry")
    for kind, key, body in entries:
        fields = {field.lower(): a or b or c for field, a, b, c in _FIELD.findall(body)}
        year = fields.get("year", "")
        yield Document(
            uri=f"{name}#{key}",
            title=fields.get("title", key),
            text=fields.get("abstract") or fields.get("title", key),
            metadata={"kind": kind.lower(), **({"year": int(year)} if year.isdigit() else {})},
        )
