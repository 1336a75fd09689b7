"""Reader of Markdown: headings, and the front matter of static site generators."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from crx.config.toml_table import parse_toml
from crx.ingest.readers.decode import decode
from crx.ingest.readers.headings import Heading, sections
from crx.types import Document, Mark, Scalar

extensions = (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd")

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
# A line at which another block begins or ends: it is not the text of an underlined heading.
_BLOCK = re.compile(
    r"[ \t]*$| {4}|\t| {0,3}(?:[>|]|[-+*][ \t]|\d{1,9}[.)][ \t]|(?:[-*_][ \t]*){3,}$)"
)
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
# Fields of front matter that are lists, also if they are written as `a, b`.
_LISTS = frozenset(("tags", "categories", "aliases"))
# Metadata that readers and the index write themselves.
_OWN_METADATA = frozenset((
    "as_written", "compression", "encoding", "ext", "folder_description", "format", "left_out",
    "left_out_reasons", "ocr", "part_of", "path", "source", "title_from", "undecodable", "uri",
))  # fmt: skip
_NUMBER = re.compile(r"0|-?[1-9]\d{0,14}")
_BLOCK_SCALAR = re.compile(r"[|>][+-]?\d?")
_FRONT_LIMIT = 16 * 1024
_LONGEST = 1000  # characters; a longer line is no heading, and is given to no regular expression
_DEPTH = {"=": 1, "-": 2}


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the document: its text as written, including front matter."""
    decoded = decode(data)
    front, body = front_matter(decoded.text)
    marks = headings(decoded.text, start=body)
    title = str(front.pop("title", "")) or next((mark.label for mark in marks), "")
    lang = str(front.pop("lang", ""))
    yield Document(
        uri=name,
        text=decoded.text,
        title=title,
        lang=lang,
        metadata={**front, **decoded.metadata(), "format": "markdown"},
        marks=marks,
    )


def headings(text: str, *, start: int = 0) -> tuple[Mark, ...]:
    """Return the sections of ATX and setext headings, ignoring `#` lines in fenced code."""
    found: list[Heading] = []
    fence = ""
    paragraph: list[tuple[int, str]] = []  # its lines: an underline makes a single one a heading
    offset = start
    for line in text[start:].split("\n"):
        here, offset = offset, offset + len(line) + 1
        if len(line) > _LONGEST:
            paragraph.append((here, ""))
        elif fence or _FENCE.match(line):
            fence, paragraph = _next_fence(fence, line), []
        elif atx := _ATX.match(line):
            found.append(Heading(here, _strip_markup(_atx_label(line[atx.end() :])), len(atx[1])))
            paragraph = []
        elif len(paragraph) == 1 and (under := _UNDERLINE.match(line)):
            found.append(
                Heading(paragraph[0][0], _strip_markup(paragraph[0][1]), _DEPTH[under[1][0]])
            )
            paragraph = []
        elif _BLOCK.match(line):
            paragraph = []
        else:
            paragraph.append((here, line))
    return sections([heading for heading in found if heading.label], end=len(text))


def _atx_label(written: str) -> str:
    """Return the text behind the marks of a heading, without the marks that may close it."""
    text = written.strip(" \t")
    rest = text.rstrip("#")
    return rest.rstrip(" \t") if rest.endswith((" ", "\t")) else text


def _next_fence(fence: str, line: str) -> str:
    """Return the fence that is open after a line, or ""."""
    if not (match := _FENCE.match(line)):
        return fence
    run, info = match.groups()
    if not fence:
        return "" if run[0] == "`" and "`" in info else run
    closes = run[0] == fence[0] and len(run) >= len(fence) and not info.strip()
    return "" if closes else fence


def _strip_markup(inline: str) -> str:
    """Return a heading's text without the markup of emphasis, code and links."""
    return re.sub(r"[*`]|(?<!\w)_+|(?<!_)_+(?!\w)", "", _LINK.sub(r"\1", inline)).strip()


def front_matter(text: str) -> tuple[dict[str, Scalar | list[Scalar]], int]:
    """Return the fields of the front matter, YAML or TOML, and where the body begins.

    Of YAML, flat `key: value` lines, `[a, b]` lists and `- item` lists are read; others are
    ignored. Of TOML, tables within are read as if their fields stood outside.
    """
    mark = text[:4]
    if mark not in ("---\n", "+++\n") or (close := text.find("\n" + mark[:3], 3, _FRONT_LIMIT)) < 0:
        return {}, 0
    after = text.find("\n", close + 1)
    body = len(text) if after < 0 else after + 1
    if text[close + 4 : body].strip():
        return {}, 0
    fields = _toml(text[4:close]) if mark == "+++\n" else _yaml(text[4:close])
    for name in _LISTS & fields.keys():
        value = fields[name]
        if isinstance(value, str):
            fields[name] = [part.strip().lstrip("#") for part in value.split(",") if part.strip()]
    return {
        name: value
        for name, value in fields.items()
        if name not in _OWN_METADATA and value not in ("", [])
    }, body


def _yaml(source: str) -> dict[str, Scalar | list[Scalar]]:
    fields: dict[str, Scalar | list[Scalar]] = {}
    key = ""
    for line in source.split("\n"):
        item = line.strip()
        if field := _FIELD.match(line):
            key = field[1].lower()
            written = (field[2] or "").strip()
            if written and not _BLOCK_SCALAR.fullmatch(written):
                fields[key] = _value(written)
        elif key and item.startswith("- ") and isinstance(kept := fields.setdefault(key, []), list):
            kept.append(_unquote(item[2:]))
    return fields


def _toml(source: str) -> dict[str, Scalar | list[Scalar]]:
    try:
        parsed = parse_toml(source.encode())
    except ValueError:
        return {}
    fields: dict[str, Scalar | list[Scalar]] = {}
    for table in (parsed, *(value for value in parsed.values() if isinstance(value, dict))):
        for name, value in table.items():
            values = [each if isinstance(each, Scalar) else str(each) for each in _each(value)]
            if not isinstance(value, dict):
                fields.setdefault(name.lower(), values if isinstance(value, list) else values[0])
    return fields


def _each(value: object) -> list[Any]:
    """Return the values of a list, else the value, without tables."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if not isinstance(each, dict | list)]


def _value(written: str) -> Scalar | list[Scalar]:
    if written.startswith("[") and written.endswith("]"):
        return [_unquote(part) for part in written[1:-1].split(",") if part.strip()]
    if written.lower() in ("true", "false"):
        return written.lower() == "true"
    return int(written) if _NUMBER.fullmatch(written) else _unquote(written)


def _unquote(written: str) -> str:
    written = written.strip()
    if len(written) > 1 and written[0] == written[-1] and written[0] in "\"'":
        return written[1:-1]
    return written
