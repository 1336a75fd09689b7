"""`llms.txt`, `llms-full.txt` and a Markdown copy of each page, beside the HTML."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
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
    """Return the signature and docstring of a name, and those of a class's public members."""
    module, _, name = directive[1].rpartition(".")
    value = getattr(import_module(module), name)
    return "\n\n".join(_entries(directive[1], value)) + "\n"


def _entries(name: str, value: object) -> Iterator[str]:
    signature = str(inspect.signature(value)) if inspect.isroutine(value) else ""
    yield f"### {name}{signature}\n\n{inspect.getdoc(value) or ''}".rstrip()
    if inspect.isclass(value) and not issubclass(value, Exception):
        for member, each in vars(value).items():
            if not member.startswith("_") and (
                inspect.isroutine(each) or isinstance(each, property)
            ):
                yield from _entries(f"{name}.{member}", each)
