"""Parsing of --where and --window."""

from __future__ import annotations

import os
import re
import unicodedata
from datetime import datetime, timedelta, timezone
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
  path='docs/**/*.md'     files that match a glob; '*.md' matches in every folder
  path!=docs/old          all but a folder or a glob
  ext=pdf                 the file's suffix
  format=markdown         the format that the file was read as
  from=zofia              a part of a mail's sender, of to or of author, in any case
  modified>=2024-05-31    the time of the file, in UTC; --since 30d and --before 2024 are shorter
  year>=2020              comparison: =, !=, <, <=, >, >=

Fields are lang, kind (code, prose or data), title, path, uri, source (the uri without its
#fragment), ext, format, modified and the metadata of a document, such as year or tag. Numbers
compare with numbers, true and false with booleans.\
"""

# Fields that hold dates as texts, of which a year alone is one.
_DATES = ("date", "modified")
_AGO = re.compile(r"(\d{1,6})(d|w|mo|y)")
_DAYS = {"d": 1, "w": 7, "mo": 30, "y": 365}
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d)?Z?)?)?)?")

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
    conditions: tuple[str, ...], *, here: str = "", since: str = "", before: str = ""
) -> Where:
    """Return the filter of `FIELD=VALUE`, `FIELD>=VALUE`, ... options; all must hold.

    `since` and `before` are those options: a date, or a time ago such as 30d.

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
        if name == "path" and sign in ("=", "!="):
            glob = _path_glob(value, here=here or os.getcwd())
            of["glob" if sign == "=" else "!="] = glob
        elif name in _DATES:
            of[sign] = value
        elif sign == "=" and "," in value:
            of["in"] = [_parse_scalar(each) for each in value.split(",")]
        else:
            of[sign] = _parse_scalar(value)
    if times := _parse_times(since, before, now=datetime.now(timezone.utc)):
        where.setdefault("modified", {}).update(times)
    return where


def _parse_times(since: str, before: str, *, now: datetime) -> dict[str, object]:
    """Return the condition of `--since` and `--before` on the time of a file."""
    times = {">=": ("--since", since), "<": ("--before", before)}
    return {
        sign: _parse_time(option, text, now=now) for sign, (option, text) in times.items() if text
    }


def _parse_time(option: str, text: str, *, now: datetime) -> str:
    if ago := _AGO.fullmatch(text):
        days = int(ago[1]) * _DAYS[ago[2]]
        moment = now - timedelta(days=min(days, now.toordinal() - 1))
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    if _DATE.fullmatch(text):
        return text.removesuffix("Z")
    raise UsageError(
        f"{option} {text}: want a date, such as 2024-05-31, or an age: 30d, 2w, 6mo, 1y"
    )


def _path_glob(value: str, *, here: str) -> str:
    is_name = "/" not in value and any(sign in value for sign in "*?[")
    absolute = value if is_name else _spelled_as_stored(os.path.join(here, value))
    return absolute.rstrip("/") + "/**" if os.path.isdir(absolute) else absolute


def _spelled_as_stored(path: str) -> str:
    """Return a path in the form in which it exists: a Mac decomposes accented letters."""
    forms = (unicodedata.normalize(form, path) for form in ("NFC", "NFD"))
    return next((form for form in (path, *forms) if os.path.lexists(form)), path)


def _parse_scalar(text: str) -> str | int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
