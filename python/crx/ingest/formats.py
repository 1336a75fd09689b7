"""Formats of documents, and which of them have the lines of the file."""

from __future__ import annotations

from collections.abc import Mapping

# The languages of source code by extension.
LANGUAGES = {
    ".py": "python", ".pyi": "python", ".pyw": "python",
    ".rs": "rust",
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript",
    ".ts": "typescript", ".mts": "typescript", ".cts": "typescript",
    ".tsx": "tsx",
    ".go": "go",
    ".java": "java",
    ".c": "c", ".h": "c",
    ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".c++": "cpp", ".hh": "cpp", ".hpp": "cpp",
    ".hxx": "cpp", ".inl": "cpp", ".cu": "cpp", ".cuh": "cpp",
}  # fmt: skip
# Markup that is indexed as written, by extension.
MARKUP = {
    ".rst": "rst", ".rest": "rst",
    ".adoc": "asciidoc", ".asciidoc": "asciidoc",
    ".org": "org",
    ".tex": "latex", ".latex": "latex",
    ".mediawiki": "mediawiki", ".wiki": "mediawiki",
}  # fmt: skip
_AS_WRITTEN = frozenset(("text", "markdown", *MARKUP.values(), *LANGUAGES.values()))


def is_as_written(uri: str, metadata: Mapping[str, object]) -> bool:
    """Return True if a document's text has the lines of its file, so that they can be cited.

    A text that was extracted, as from HTML, or that is one of several in its file, does not. A
    reader of another format says it with the metadata `as_written`. A document that is no file has
    the lines that it was given with.
    """
    path = metadata.get("path")
    if path is None:
        return True
    format_ = metadata.get("format")  # of JSON lines, whatever the record says
    written = metadata.get("as_written", isinstance(format_, str) and format_ in _AS_WRITTEN)
    return bool(written) and path == uri
