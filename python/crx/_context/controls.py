"""Characters that no context has: controls, marks of direction and tags.

A terminal obeys some of them, others hide text from a reader or show it in another order. A context
is written by a model, or comes from a plugin or a file, so none of them is stored.
"""

from __future__ import annotations

import re

from crx.types import Context

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def has_controls(text: str) -> bool:
    """Return whether a text has control characters, marks of direction, tags or surrogates."""
    return _CONTROLS.search(text) is not None


def strip_controls(text: str) -> str:
    """Return a text without control characters, marks of direction and tags."""
    return _CONTROLS.sub("", text)


def refuse_controls(context: Context) -> Context:
    """Return a context, or a rejected one if it has such characters."""
    return Context.rejected("control characters") if has_controls(context.text) else context
