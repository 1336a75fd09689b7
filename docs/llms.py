"""`llms.txt`, `llms-full.txt` and a Markdown copy of each page, beside the HTML."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

_DIRECTIVE = re.compile(r"^::: (\S+)\n(?:    .*\n)*", re.MULTILINE)


def write(site: Path, pages: Mapping[str, str], *, name: str, about: str) -> None:
    """Write the copies of pages, which are Markdown by path below the site, in their order."""
    copies = {path: _DIRECTIVE.sub(_described, text) for path, text in pages.items()}
    for path, text in copies.items():
        (site / path).write_text(text, encoding="utf-8")
    links = [f"- [{title(text)}]({path})" for path, text in copies.items()]
    index = f"# {name}\n\n> {about}\n\n## Pages\n\n" + "\n".join(links) + "\n"
    (site / "llms.txt").write_text(index, encoding="utf-8")
    (site / "llms-full.txt").write_text("\n".join(copies.values()), encoding="utf-8")


def title(text: str) -> str:
    """Return the first heading of a page."""
    return text.partition("\n")[0].removeprefix("# ")


def _described(directive: re.Match[str]) -> str:
    """Return signature and docstring of a name, and those of its public members."""
    module, _, name = directive[1].rpartition(".")
    value = getattr(import_module(module), name)
    return "\n\n".join(_entries(directive[1], value)) + "\n"


def _entries(name: str, value: object) -> Iterator[str]:
    yield f"### {name}{_signature(value)}\n\n{inspect.getdoc(value) or ''}".rstrip()
    for member, each in _members(value).items() if _has_members(value) else ():
        if not member.startswith("_") and _is_own(each, value):
            yield from _entries(f"{name}.{member}", each)


def _signature(value: object) -> str:
    if not callable(value) or not (inspect.isroutine(value) or is_dataclass(value)):
        return ""
    # Annotations are kept as text, which is shown without its quotes.
    return re.sub(r"(: |-> )(['\"])(.*?)\2", r"\1\3", str(inspect.signature(value)))


def _has_members(value: object) -> bool:
    return inspect.ismodule(value) or (inspect.isclass(value) and not issubclass(value, Exception))


def _members(value: object) -> dict[str, object]:
    """Return the members of a module, or those of a class and of the classes it extends."""
    if not inspect.isclass(value):
        return dict(vars(value))
    own = [each for each in value.__mro__ if each.__module__.partition(".")[0] == "crx"]
    return {name: member for each in reversed(own) for name, member in vars(each).items()}


def _is_own(member: object, value: object) -> bool:
    if inspect.ismodule(value):
        return inspect.isclass(member) and member.__module__ == value.__name__
    return inspect.isroutine(member) or isinstance(member, property)
