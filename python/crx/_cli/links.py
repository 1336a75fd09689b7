"""Hyperlinks of a terminal (OSC 8) from a citation that is printed to its file or web page.

A file's link names the host, as the convention of terminals asks, so that the file of another
machine is not opened here. The line goes into the fragment only for terminals that are known to
read it: others open no file whose link has one.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import Literal
from urllib.parse import quote

from crx.ingest.paths import path_of
from crx.types import Citation, Passage

# What the links of a terminal name: nothing, files, or files and lines.
Links = Literal["none", "files", "lines"]

_WEB = ("http://", "https://")
# Terminals that would print the sequence as it is.
_WITHOUT_LINKS = ("", "linux")


def links_of_terminal(environ: Mapping[str, str]) -> Links:
    """Return what the links of a terminal that shows styles may name, by its variables."""
    if "WT_SESSION" not in environ and environ.get("TERM", "") in _WITHOUT_LINKS:
        return "none"
    reads_lines = _is_vscode(environ) or environ.get("TERM") == "xterm-kitty"
    return "lines" if reads_lines else "files"


def link_url(source: Passage | Citation, *, links: Links, environ: Mapping[str, str]) -> str:
    """Return the URL of a passage's web page or file, "" if there is neither or no links."""
    if links == "none":
        return ""
    if source.uri.startswith(_WEB):
        return source.uri + source.fragment
    path = path_of(source.uri)
    if not os.path.isabs(path) or not os.path.exists(path):
        return ""
    # Visual Studio Code takes a host for that of a shared folder.
    host = "" if _is_vscode(environ) else platform.node()
    slashed = os.fsencode(path.replace(os.sep, "/"))
    rooted = slashed if slashed.startswith(b"/") else b"/" + slashed
    number = answering_line(source)
    line = f"#{number}" if links == "lines" and number else ""
    return f"file://{quote(host)}{quote(rooted)}{line}"


def answering_line(source: Passage | Citation) -> int | None:
    """Return the line of a passage that answers, None if its document has no lines."""
    return source.line or (source.lines[0] if source.lines else None)


def _is_vscode(environ: Mapping[str, str]) -> bool:
    return environ.get("TERM_PROGRAM") == "vscode"
