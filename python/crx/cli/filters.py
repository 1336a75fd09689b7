"""Parsing of --where and --window."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from crx.errors import UsageError
from crx.types import Window

if TYPE_CHECKING:
    from crx.retrieve.request import Where

# What "crx help filters" prints.
HELP = """\
--where FIELD=VALUE keeps the documents for which the condition holds; several must all hold.

  lang=en                 the document's language, as an ISO 639-1 code
  lang=en,fr              any of several values
  path=docs               a folder and all below it, from the current folder
  path='docs/**/*.md'     files that match a glob
  ext=pdf                 the file's suffix, without its dot
  format=markdown         the format that the file was read as
  year>=2020              comparison: =, !=, <, <=, >, >=

Fields are lang, title, path, uri, source (the uri without its #fragment), ext, format and the
metadata of a document, such as year or tag. Numbers compare with numbers, true and false with
booleans.\
"""

_SIGNS = ("!=", "<=", ">=", "=", "<", ">")


def parse_window(text: str) -> Window:
    """Return the window that --window names."""
    if text == "auto":
        return "auto"
    if text == "grow":
        return "grow"
    # A longer number is out of range, and `int` refuses one of thousands of digits.
    if text.isascii() and text.isdigit() and len(text) <= 20:
        return int(text)
    raise UsageError(f"--window {text}: want auto, grow or a number of chunks")


def parse_where(conditions: tuple[str, ...], *, here: str = "") -> Where:
    """Return the filter of `FIELD=VALUE`, `FIELD>=VALUE`, ... options; all must hold.

    A number is a number, `a,b` is any of; a relative path or glob starts in the folder `here`, by
    default the current one.
    """
    where: dict[str, dict[str, object]] = {}
    for condition in conditions:
        for sign in _SIGNS:
            name, found, value = condition.partition(sign)
            if found and name.isidentifier():
                break
        else:
            raise UsageError(f"--where {condition}: want FIELD=VALUE, or !=, <, <=, >, >=")
        of = where.setdefault(name, {})
        if name == "path" and sign == "=":
            of["glob"] = _path_glob(value, here=here or os.getcwd())
        elif sign == "=" and "," in value:
            of["in"] = [_parse_scalar(each) for each in value.split(",")]
        else:
            of[sign] = _parse_scalar(value)
    return where


def _path_glob(value: str, *, here: str) -> str:
    absolute = os.path.join(here, value)
    return absolute.rstrip("/") + "/**" if os.path.isdir(absolute) else absolute


def _parse_scalar(text: str) -> str | int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
