"""Dates and times of spreadsheets: serial numbers of days as number formats show them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

ISO_DATE, ISO_TIME = "yyyy-mm-dd", "hh:mm:ss"
# Fields under other names: years of other calendars are those of the common one, eras are left out.
FIELDS = {"e": "yyyy", "ee": "yyyy", "b": "yyyy", "bb": "yyyy", "bbbb": "yyyy", "yyy": "yyyy"}
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FIRST_DAY, _FIRST_DAY_1904 = datetime.date(1899, 12, 30), datetime.date(1904, 1, 1)
_LAST = 2_958_465  # the serial number of 9999-12-31
_FALSE_LEAP_DAY = 60  # 1900-02-29, which is counted; serial numbers before it are a day behind
_SECONDS = 86_400
_MOST_DECIMALS = 9  # of a second


def show_date(value: float, tokens: Sequence[tuple[str, str]], *, from_1904: bool) -> str | None:
    """Return a serial number of days as the tokens of a format show it, None if it is no date."""
    fields = [text for kind, text in tokens if kind == "date"]
    is_elapsed = any(field.startswith("[") for field in fields)
    if not (-_LAST if is_elapsed else 0) <= value <= _LAST:
        return None
    seconds = _seconds(abs(value), decimals=_decimals_of_seconds(tokens))
    days, in_day = divmod(seconds, _SECONDS)
    if days > _LAST:
        return None
    date = _date(int(days), from_1904=from_1904)
    is_half_day = any(field in ("am/pm", "a/p") for field in fields)
    parts: list[str] = []
    at = 0
    previous = ""
    in_fraction = False
    for kind, text in tokens:
        if kind == "date":
            following = next((field for field in fields[at + 1 :]), "")
            is_minute = text in ("m", "mm") and (
                previous[:2] in ("h", "hh", "[h") or following[:1] == "s" or following[:2] == "[s"
            )
            parts.append(
                _show_minute(text, in_day)
                if is_minute
                else _show_field(text, date, in_day, seconds, is_half_day=is_half_day)
            )
            previous = text
            at += 1
            in_fraction = False
        elif kind == "point" and previous.lstrip("[")[:1] == "s":
            in_fraction = True
            fraction = f"{in_day % 1:.{_MOST_DECIMALS}f}"[2:]
            parts.append(text)
        elif kind == "digit" and in_fraction:
            parts.append(fraction[:1])
            fraction = fraction[1:]
        elif kind in ("text", "point", "comma", "slash", "percent"):
            parts.append(text)
    return ("-" if value < 0 else "") + "".join(parts)


def _decimals_of_seconds(tokens: Sequence[tuple[str, str]]) -> int:
    """Return how many decimals of a second are shown."""
    count, previous, counting = 0, "", False
    for kind, text in tokens:
        counting = (counting and kind == "digit") or (kind == "point" and previous == "s")
        count += counting and kind == "digit"
        previous = text.lstrip("[")[:1] if kind == "date" else previous
    return min(count, _MOST_DECIMALS)


def _seconds(days: float, *, decimals: int) -> Decimal:
    """Return days as seconds, rounded to those decimals that are shown."""
    exact = Decimal(f"{days:.15g}") * _SECONDS
    return exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def _date(days: int, *, from_1904: bool) -> datetime.date:
    if from_1904:
        return _FIRST_DAY_1904 + datetime.timedelta(min(days, _LAST - 1462))
    return _FIRST_DAY + datetime.timedelta(days + (days < _FALSE_LEAP_DAY))


def _show_minute(field: str, in_day: Decimal) -> str:
    return f"{int(in_day) // 60 % 60:0{len(field)}d}"


def _show_field(
    field: str, date: datetime.date, in_day: Decimal, seconds: Decimal, *, is_half_day: bool
) -> str:
    """Return one field of a date, a time or an elapsed time."""
    if field.startswith("["):
        unit = {"h": 3600, "m": 60, "s": 1}[field[1]]
        return f"{int(seconds) // unit:0{field[3:]}d}"
    hour = int(in_day) // 3600
    match field[0]:
        case "a":
            half = "AM" if hour < 12 else "PM"
            return half if field == "am/pm" else half[0]
        case "h":
            shown = (hour - 1) % 12 + 1 if is_half_day else hour
            return f"{shown:0{min(len(field), 2)}d}"
        case "s":
            return f"{int(in_day) % 60:0{min(len(field), 2)}d}"
    return _show_day(field, date)


def _show_day(field: str, date: datetime.date) -> str:
    """Return a field of a day: its year, month, day of the month or of the week."""
    match field:
        case "y" | "yy":
            return f"{date.year % 100:02d}"
        case "m" | "mm":
            return f"{date.month:0{len(field)}d}"
        case "mmm":
            return _MONTHS[date.month - 1][:3]
        case "mmmmm":
            return _MONTHS[date.month - 1][:1]
        case "d" | "dd":
            return f"{date.day:0{len(field)}d}"
        case "ddd":
            return _DAYS[date.weekday()][:3]
    if field[0] in "md":
        return _MONTHS[date.month - 1] if field[0] == "m" else _DAYS[date.weekday()]
    return f"{date.year:04d}" if field[0] == "y" else ""
