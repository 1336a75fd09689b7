"""Addresses of indexes that are kept by an engine other than the folder."""

from __future__ import annotations

import re

from crx import registry

# The entry points that open an address: named by its scheme, called with it, they return an engine.
ENGINES = "crx.engines"


def is_engine_address(text: object) -> bool:
    """Return whether a text is the address of an engine, and not the path of a folder.

    Each URL is one, so that a scheme without an engine is refused; other paths with a colon are
    addresses if an engine has their scheme.
    """
    if not isinstance(text, str) or not (scheme := registry.scheme_of(text)):
        return False
    return text.startswith("//", len(scheme) + 1) or registry.has_opener(ENGINES, scheme)


def without_password(url: str) -> str:
    """Return a URL as it may be shown."""
    return re.sub(r"(//[^:@/]*):[^@/]*@", r"\1@", url)
