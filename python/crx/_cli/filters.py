"""Parsing of --where and --window."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from crx.errors import UsageError
from crx.retrieve.query_fields import Conditions, FieldQuery, parse_time, path_glob
from crx.types import Window

if TYPE_CHECKING:
    from crx.retrieve.request import Where

# What "crx help filters" prints.
HELP = """\
--where FIELD=VALUE keeps the documents for which the condition holds; several must all hold.

  lang=en                 the document's language, as an ISO 639-1 code or by its name
  lang=en,fr              any of several values
  path=docs               a folder and all below it, from the current folder
  path='docs/**/*.md'     files that match a glob; '*.md' matches in every folder
  path!=docs/old          all but a folder or a glob
  ext=pdf                 the file's suffix
  type=markdown           the format that the file was read as, by its name or extension
  from=zofia              a part of a mail's sender, of to or of author, in any case
  modified>=2024-05-31    the time of the file, in UTC; --since 30d and --before 2024 are shorter
  year>=2020              comparison: =, !=, <, <=, >, >=

Fields are lang, kind (code, prose or data), title, path, uri, source (the uri without its
#fragment), ext, format, type, modified and the metadata of a document, such as year or tag. Numbers
compare with numbers, true and false with booleans.\
"""

# Fields that hold dates as texts, of which a year alone is one.
_DATES = ("date", "modified")
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


def parse_where(
    conditions: tuple[str, ...],
    *,
    here: str = "",
    since: str = "",
    before: str = "",
    fields: FieldQuery | None = None,
) -> Where:
    """Return the filter of `FIELD=VALUE`, `FIELD>=VALUE`, ... options; all must hold.

    `since` and `before` are those options: a date, or a time ago such as 30d. `fields` are those of
    the query, which replace the same conditions of options.

    A number is a number, `a,b` is any of; a relative path or glob starts in the folder `here`, by
    default the current one.
    """
    here = here or os.getcwd()
    where: Conditions = {}
    for condition in conditions:
        for sign in _SIGNS:
            name, found, value = condition.partition(sign)
            if found and name.isidentifier():
                break
        else:
            raise UsageError(f"--where {condition}: want FIELD=VALUE, or !=, <, <=, >, >=")
        of = where.setdefault(name, {})
        if name == "path" and sign in ("=", "!="):
            of["glob" if sign == "=" else "!="] = path_glob(value, here=here)
        elif name in _DATES:
            of[sign] = value
        elif sign == "=" and "," in value:
            of["in"] = [_parse_scalar(each) for each in value.split(",")]
        else:
            of[sign] = _parse_scalar(value)
    if since:
        where.setdefault("modified", {})[">="] = parse_time(f"--since {since}")
    if before:
        where.setdefault("modified", {})["<"] = parse_time(f"--before {before}")
    for name, taken in (fields.where(here=here) if fields else {}).items():
        where.setdefault(name, {}).update(taken)
    return where


def _parse_scalar(text: str) -> str | int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
