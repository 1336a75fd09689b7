"""Fields in the query itself, such as `path:docs` and `after:2024`, as filters of documents."""

from __future__ import annotations

import os
import re
import unicodedata
from datetime import datetime, timedelta, timezone
from typing import NamedTuple, TypeAlias

from crx.errors import UsageError

# The conditions of each field of documents by their operators.
Conditions: TypeAlias = dict[str, dict[str, object]]

NAMES = ("path", "ext", "from", "to", "after", "before")
# A field and its value, which is quoted if it has blanks.
_FIELD = re.compile(rf"(?<!\S)({'|'.join(NAMES)}):(?:\"([^\"]+)\"|([^\s\"]+))(?!\S)")
_TIMES = {"after": ">=", "before": "<"}
_AGO = re.compile(r"(\d{1,6})(d|w|mo|y)")
_DAYS = {"d": 1, "w": 7, "mo": 30, "y": 365}
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d)?Z?)?)?)?")


class FieldQuery(NamedTuple):
    """A query without its fields, and the fields in their order, each a name and a value."""

    text: str
    fields: tuple[tuple[str, str], ...] = ()

    def where(self, *, here: str) -> Conditions:
        """Return the filter of the fields, the last of each name.

        A relative path or glob starts in the folder `here`. Raises `UsageError` for a bad time.
        """
        where: Conditions = {}
        for name, value in self.fields:
            if name in _TIMES:
                where.setdefault("modified", {})[_TIMES[name]] = parse_time(f"{name}:{value}")
            elif name == "path":
                where[name] = {"glob": path_glob(value, here=here)}
            elif name == "ext" and "," in value:
                where[name] = {"in": value.split(",")}
            else:
                where[name] = {"=": value}
        return where


def split_fields(query: str) -> FieldQuery:
    """Return a query and its fields; a query of fields alone is one of words, as a pattern is."""
    if ":" not in query or query.startswith("re:"):
        return FieldQuery(query)
    found = tuple((name, quoted or plain) for name, quoted, plain in _FIELD.findall(query))
    text = " ".join(_FIELD.sub(" ", query).split())
    return FieldQuery(text, found) if found and text else FieldQuery(query)


def parse_time(given: str) -> str:
    """Return the time of `after:30d`, `--since 2024-05` and the like, in UTC.

    Raises `UsageError` if what follows the name is neither a date nor an age.
    """
    text = re.split("[: ]", given, maxsplit=1)[1]
    if ago := _AGO.fullmatch(text):
        now = datetime.now(timezone.utc)
        days = int(ago[1]) * _DAYS[ago[2]]
        moment = now - timedelta(days=min(days, now.toordinal() - 1))
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    if _DATE.fullmatch(text):
        return text.removesuffix("Z")
    raise UsageError(f"{given}: want a date, such as 2024-05-31, or an age: 30d, 2w, 6mo, 1y")


def path_glob(value: str, *, here: str) -> str:
    """Return the glob of a file, of a folder and all below it, or of a glob.

    A relative one starts in the folder `here`, and `..` is the folder above; a glob without a `/`
    matches names anywhere.
    """
    is_name = "/" not in value and any(sign in value for sign in "*?[")
    absolute = value if is_name else _spelled_as_stored(os.path.normpath(os.path.join(here, value)))
    return absolute.rstrip("/") + "/**" if os.path.isdir(absolute) else absolute


def _spelled_as_stored(path: str) -> str:
    """Return a path in the form in which it exists: a Mac decomposes accented letters."""
    forms = (unicodedata.normalize(form, path) for form in ("NFC", "NFD"))
    return next((form for form in (path, *forms) if os.path.lexists(form)), path)
