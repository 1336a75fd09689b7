"""Formats of documents, and which of them have the lines of the file."""

from __future__ import annotations

import re
from collections.abc import Mapping

from crx import _native

# The languages of source code by extension; how they are written is known to the core.
LANGUAGES = {f".{extension}": name for extension, name in _native.source_languages().items()}
# Markup that is indexed as written, by extension.
MARKUP = {
    ".rst": "rst", ".rest": "rst",
    ".adoc": "asciidoc", ".asciidoc": "asciidoc",
    ".org": "org",
    ".tex": "latex", ".latex": "latex",
    ".mediawiki": "mediawiki", ".wiki": "mediawiki",
}  # fmt: skip
# Extensions of compressed files, behind that of what they hold.
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
# Extensions of archives, each with that of the compression around a tar file.
ARCHIVES = {
    ".zip": "",
    ".7z": "",
    ".tar": "",
    ".tgz": ".gz",
    ".tbz2": ".bz2",
    ".txz": ".xz",
    ".tzst": ".zst",
}
_MAILDIR = re.compile(r"(?:^|/)(?:cur|new)/\d{6,20}\.[^/]*$")
_EXTENSION = re.compile(r"\.[^\W_]{1,12}$")
# Between letters and a number.
_GLUED = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_AS_WRITTEN = frozenset(("text", "markdown", *MARKUP.values(), *LANGUAGES.values()))


def suffix(name: str) -> str:
    """Return the extension of a path or URI, lower case with its dot, or "".

    A message in a Maildir has none: its name ends with that of the machine and with flags.
    """
    if _MAILDIR.search(name):
        return ""
    last = name.rpartition("/")[2]
    stem, dot, extension = last.rpartition(".")
    return f".{extension.lower()}" if dot and stem else ""


def path_names(uri: str) -> tuple[str, ...]:
    """Return the names of a file and of its folder, by which its documents are found.

    Numbers within a name are repeated as words of their own; parts such as those of `TaxReturn` and
    `tax_return` are known to the analyzer. The folder of a file in an archive is that within. A
    record of a file has no name, and neither has a message of a mailbox or a text that is no file.
    """
    *folders, name = re.split("[/#]", uri)
    if not _EXTENSION.search(name) and ("#" in uri or not folders):
        return ()
    compression = suffix(name)
    stem = name[: -len(compression)] if compression in COMPRESSIONS else name
    stem = _EXTENSION.sub("", stem) or stem
    names = [*folders[-1:], stem]
    parts = [_GLUED.sub(" ", name) for name in names]
    return tuple(dict.fromkeys(name for name in (*names, *parts) if name))


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
