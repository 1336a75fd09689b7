"""Traversal of XML trees of any depth, by the local names of their elements."""

from __future__ import annotations

from collections.abc import Container, Iterator
from xml.etree.ElementTree import Element


def walk(root: Element, *, skip: Container[str] = ()) -> Iterator[tuple[Element, bool]]:
    """Yield each element twice, before and after its children, with True the second time.

    Elements whose local name is in `skip` are left out with all they contain. Not recursive, since
    a file may nest deeper than Python's stack.
    """
    stack = [(root, False)]
    while stack:
        element, closing = stack.pop()
        yield element, closing
        if not closing:
            stack.append((element, True))
            stack.extend((e, False) for e in reversed(element) if local_name(e) not in skip)


def local_name(element: Element) -> str:
    """Return an element's name without its namespace; "" for a processing instruction."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Element, name: str) -> str:
    """Return the attribute of a local name, or ""."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return value
    return ""


def children(element: Element, name: str) -> Iterator[Element]:
    """Yield the children of a local name."""
    return (child for child in element if local_name(child) == name)


def find(element: Element, *path: str) -> Element | None:
    """Return the first descendant at a path of local names, or None."""
    for name in path:
        child = next(children(element, name), None)
        if child is None:
            return None
        element = child
    return element


def all_text(element: Element) -> str:
    """Return the text of an element and of all it contains, as one line."""
    return " ".join("".join(element.itertext()).split())


def number(written: str, *, default: int = 0) -> int:
    """Return a whole number, or the default if it is none."""
    return int(written) if written.isdecimal() and len(written) < 9 else default
