"""HTML from elements: text and attributes are escaped, so that no document writes markup."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

# What HTML cannot hold or a browser does not show: controls, and bytes that are not UTF-8.
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_VOID = frozenset(("input", "link", "meta", "br"))

# The value of an attribute; True is one without a value, False and None are left out.
Attribute = str | int | bool | None


class Markup(str):
    """A text that is markup already. `tag` and `join` make it, and nothing else does."""

    __slots__ = ()


Node = str | Markup


def tag(name: str, attributes: Mapping[str, Attribute], *children: Node) -> Markup:
    """Return an element; children that are no markup are escaped."""
    written = "".join(_attribute(*each) for each in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: Node) -> Markup:
    """Return nodes one after the other."""
    return Markup("".join(map(_escape, children)))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{_escape(str(value))}"'


def _escape(node: Node) -> str:
    if isinstance(node, Markup):
        return node
    return html.escape(_INVALID.sub("\ufffd", node))
