"""Reader of contacts (vCard) and of calendars (iCalendar): each card, event and task as a section.

Both formats are lines of `NAME;parameters:value` between BEGIN and END (RFC 6350, RFC 5545), long
ones folded. A section's heading is the name of the card or the summary of the event; below it is a
line for each property that says something to a person.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator, Mapping
from operator import itemgetter

from crx.errors import NothingToRead
from crx.ingest.readers import text as plain
from crx.ingest.readers.decode import decode, require_charset
from crx.ingest.readers.normal_text import normalize
from crx.ingest.readers.text_builder import TextBuilder
from crx.types import Document

extensions = (".vcf", ".vcard", ".ics", ".ical")

# The properties of each kind of section that are read, and what stands before their values.
_CONTACT = {
    "NICKNAME": "", "ORG": "", "TITLE": "", "ROLE": "", "EMAIL": "Mail: ", "TEL": "Phone: ",
    "ADR": "Address: ", "URL": "", "BDAY": "Birthday: ", "CATEGORIES": "Categories: ", "NOTE": "",
}  # fmt: skip
_EVENT = {
    "DTSTART": "Begins: ", "DTEND": "Ends: ", "DUE": "Due: ", "DURATION": "Duration: ",
    "RRULE": "Repeats: ", "LOCATION": "Location: ", "ORGANIZER": "Organizer: ",
    "ATTENDEE": "Attendee: ", "CATEGORIES": "Categories: ", "STATUS": "Status: ", "URL": "",
    "DESCRIPTION": "", "COMMENT": "",
}  # fmt: skip
_SECTIONS = {"VCARD": _CONTACT, "VEVENT": _EVENT, "VTODO": _EVENT, "VJOURNAL": _EVENT}
_HEADINGS = {"FN": 0, "SUMMARY": 0, "N": 1}
_CHARSET = re.compile(r'\bCHARSET="?([\w.:-]{1,40})', re.IGNORECASE)
_TIME_ZONE = re.compile(r';TZID=(?:"([^"]{1,100})"|([^";:]{1,100}))', re.IGNORECASE)
_COMMON_NAME = re.compile(r';CN=(?:"([^"]{1,200})"|([^";:]{1,200}))', re.IGNORECASE)
# The name and the parameters, which may have colons within quotes.
_HEAD = re.compile(r'([^":]*(?:"[^"]*"[^":]*)*):')
_BEGIN = re.compile(r"^BEGIN:\s*V", re.IGNORECASE | re.MULTILINE)
_ESCAPE = re.compile(r"\\([\\,;nN])")
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
# A picture or a key is a property of one long line.
_MOST_CHARS = 100_000
_FOLD = re.compile(rb"\r?\n[ \t]")


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield one document with a section for each card, event, task and journal entry."""
    decoded = decode(_FOLD.sub(b"", data))  # a line may be folded within a character
    if name.lower().endswith(".vcf") and not _BEGIN.search(decoded.text):
        yield from plain.read(data, name=name)  # variants of genes have this extension too
        return
    text = TextBuilder()
    title, kind, fields = "", "", list[tuple[str, str]]()
    depth = 0  # of what is open within a section: an event's alarms say nothing of the event
    for property_, parameters, value in _properties(decoded.text):
        section = value.strip().upper()
        if property_ == "BEGIN" and section in _SECTIONS:
            if kind:  # it does not end, or holds another
                _add_section(text, fields, _SECTIONS[kind])
            kind, fields, depth = section, [], 0
        elif kind and property_ == "END" and section == kind:
            _add_section(text, fields, _SECTIONS[kind])
            kind = ""
        elif property_ in ("BEGIN", "END"):
            depth = max(depth + (1 if property_ == "BEGIN" else -1), 0)
        elif property_ == "X-WR-CALNAME":
            title = title or _readable(property_, parameters, value)
        elif kind and not depth:
            fields.append((property_, _readable(property_, parameters, value)))
    if not text:
        raise NothingToRead("has no contact, event or task")
    format_ = "vcard" if name.lower().endswith((".vcf", ".vcard")) else "icalendar"
    yield text.build(name, title=title, metadata={**decoded.metadata(), "format": format_})


def _properties(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the parameters and the value of each property, unfolded."""
    unfolded = re.sub(r"\n[ \t]", "", text)
    # Lines of version 2.1 that end in `=` go on without a space.
    lines = iter(unfolded.split("\n"))
    for line in lines:
        if len(line) > _MOST_CHARS or not (head := _HEAD.match(line)):
            continue
        name, _, parameters = head[1].partition(";")
        value = line[head.end() :]
        if "QUOTED-PRINTABLE" in parameters.upper():
            parts = [value]
            while parts[-1].endswith("="):
                parts[-1] = parts[-1][:-1]
                parts.append(next(lines, ""))
            value = "".join(parts)
            if len(value) > _MOST_CHARS:
                continue
            value = _decode(quopri.decodestring(value.encode()), parameters)
        # A group may stand before the name: `item1.TEL`.
        yield name.rpartition(".")[2].strip().upper(), f";{parameters}", value


def _decode(value: bytes, parameters: str) -> str:
    """Return a value of bytes by the character set that its parameters name, else as UTF-8."""
    if charset := _CHARSET.search(parameters):
        try:
            return normalize(value.decode(require_charset(charset[1]), errors="replace"))
        except (LookupError, ValueError):  # no such character set, or none of text
            pass
    return value.decode("utf-8", errors="replace")


def _readable(name: str, parameters: str, value: str) -> str:
    """Return a value as a person reads it."""
    if name in ("ATTENDEE", "ORGANIZER"):
        address = re.sub(r"^mailto:", "", value, flags=re.IGNORECASE)
        known = _COMMON_NAME.search(parameters)
        return f"{known[1] or known[2]} <{address}>" if known else address
    if name in ("ADR", "N", "ORG"):
        parts = (part.strip() for part in re.split(r"(?<!\\);", value))
        value = (", " if name == "ADR" else " ").join(part for part in parts if part)
    if name in ("DTSTART", "DTEND", "DUE", "BDAY"):
        zone = _TIME_ZONE.search(parameters)
        date = _DATE.sub(_iso_date, value, count=1)
        return f"{date} {(zone[1] or zone[2]).lstrip('/')}" if zone else date
    if name == "TEL":
        value = value.removeprefix("tel:")
    return _ESCAPE.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)


def _iso_date(match: re.Match[str]) -> str:
    year, month, day, hour, minute, utc = match.groups()
    date = f"{year}-{month}-{day}"
    return f"{date} {hour}:{minute}{' UTC' if utc else ''}" if hour else date


def _add_section(
    text: TextBuilder, fields: list[tuple[str, str]], labels: Mapping[str, str]
) -> None:
    named = [
        (_HEADINGS[name], value) for name, value in fields if name in _HEADINGS and value.strip()
    ]
    order = list(labels)
    lines = [
        (order.index(name), labels[name] + value)
        for name, value in fields
        if name in labels and value.strip()
    ]
    if named:
        text.add_heading(min(named, key=itemgetter(0))[1], level=1)
    text.add("\n".join(line for _, line in sorted(lines, key=itemgetter(0))))
