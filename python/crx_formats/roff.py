"""Lines of roff, the input of man pages: requests and texts, without escapes and conditions.

What a terminal would show is kept: conditions are those of nroff, and fonts, sizes and motions are
dropped. Macros that a page defines itself are skipped. The time is linear in the length: lines are
read once, names and values are bounded, and a line has few conditions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

# A value of a string; a longer one is cut, since a page could double it again and again.
_LONGEST_STRING = 40
_MOST_CONDITIONS = 10
_CONTROL = re.compile(r"[.'][ \t]*")
_NAME = re.compile(r"\S{1,100}")
_COMMENT = re.compile(r'\\["#]')
_CONDITION = re.compile(r"[ \t]*(!?)(?:([nteo])|(\\n\(\.g|\\n\[\.g\]))?(\S*)[ \t]*")
_ARGUMENT = re.compile(r'"((?:""|[^"])*)"?|((?:\\.|\S)+)')
_ESCAPE = re.compile(
    r"\\(?:"
    r"\*(?:\((?P<two>..)|\[(?P<long>[^\]\n]{0,40})\]|(?P<one>.))"
    r"|\[(?P<named>[^\]\s]{1,40})\]"
    r"|\((?P<pair>..)"
    r"|[fFmMYgnVk](?:\(..|\[[^\]\n]{0,40}\]|[+-]?.)"
    r"|s(?:[+-]?\((?:..)|\[[^\]\n]{0,10}\]|[+-]?\d{1,2})"
    r"|C'(?P<quoted>[^'\n]{0,40})'"
    r"|[hvwlLbodDXNASRZBHx]'[^'\n]{0,200}'"
    r"|(?P<other>.|\Z)"
    r")"
)
_ALONE = {**dict.fromkeys("&|^,/%:){}!cdupra", ""), " ": " ", "~": " ", "0": " ", "e": "\\",
          "\\": "\\", "t": "\t"}  # fmt: skip
_ACCENTS = {":": "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", ",": "\u0327",
            "~": "\u0303"}  # fmt: skip
_CHARACTERS = {
    "-": "-", "hy": "-", "mi": "-", "en": "–", "em": "—", "aq": "'", "dq": '"', "ga": "`",
    "ha": "^", "ti": "~", "rs": "\\", "bu": "•", "ci": "○", "co": "©", "rg": "®", "tm": "™",
    "la": "<", "ra": ">", "lq": "“", "rq": "”", "Lq": "“", "Rq": "”", "oq": "‘", "cq": "’",
    "Bq": "„", "bq": "‚", "Fo": "«", "Fc": "»", "fo": "‹", "fc": "›", "at": "@", "sh": "#",
    "Do": "$", "ba": "|", "or": "|", "bv": "|", "br": "|", "ul": "_", "ru": "_", "lB": "[",
    "rB": "]", "lC": "{", "rC": "}", "sl": "/", "mu": "×", "di": "÷", "+-": "±", "<=": "≤",
    ">=": "≥", "!=": "≠", "==": "≡", "~=": "≅", "->": "→", "<-": "←", "<>": "↔", "ua": "↑",
    "da": "↓", "rA": "⇒", "lA": "⇐", "de": "°", "sc": "§", "dg": "†", "dd": "‡", "ps": "¶",
    "eu": "€", "Eu": "€", "Po": "£", "Ye": "¥", "ct": "¢", "12": "½", "14": "¼", "34": "¾",
    "mc": "µ", "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "/o": "ø", "/O": "Ø",
    "oa": "å", "oA": "Å", "r!": "¡", "r?": "¿", "if": "∞", "no": "¬", "tno": "¬", "*a": "α",
    "*b": "β", "*m": "μ", "*p": "π", "*l": "λ", "*s": "σ", "*D": "Δ", "*W": "Ω", "sq": "□",
    "ff": "ff", "fi": "fi", "fl": "fl", "Fi": "ffi", "Fl": "ffl", "pc": "·", "md": "·",
    "eq": "=", "pl": "+", "**": "*", "OK": "✓",
}  # fmt: skip
_STRINGS = {"lq": "“", "rq": "”", "Lq": "“", "Rq": "”", "aq": "'", "q": '"', "Tm": "™",
            "R": "®", "Le": "≤", "Ge": "≥", "Lt": "<", "Gt": ">", "Ne": "≠",
            "Pm": "±", "Am": "&"}  # fmt: skip
_DEFINING = frozenset(("de", "de1", "dei", "am", "am1", "ami", "ig"))


class Line(NamedTuple):
    """A line: the name of its macro, "" for a text, and the rest with its escapes."""

    macro: str
    rest: str


class Roff:
    """A roff source, with the strings that it has defined so far."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._strings = dict(_STRINGS)
        # Whether the conditions of the `.ie` that wait for their `.el` held.
        self._held: list[bool] = []

    def lines(self) -> Iterator[Line]:
        """Yield the lines that a terminal would be sent."""
        ending, depth = "", 0
        for raw in _joined(self._source.split("\n")):
            if ending:
                ending = "" if _starts_with(raw, ending) else ending
            elif depth:
                depth = max(depth + raw.count("\\{") - raw.count("\\}"), 0)
            else:
                line = _parse(raw)
                line, depth = self._resolve(line)
                if line.macro in _DEFINING:
                    name, *end = line.rest.split(None, 2)[: 2 if line.macro != "ig" else 1] or [""]
                    ending = end[0] if end else (name if line.macro == "ig" and name else ".")
                elif line.macro in ("ds", "as"):
                    self._define(line)
                elif line.macro or line.rest.strip() or not raw.strip():
                    yield line

    def plain(self, written: str) -> str:
        """Return a text without escapes."""
        if "\\" not in written:
            return written
        return _ESCAPE.sub(self._replace, written)

    def arguments(self, rest: str) -> list[str]:
        """Return the arguments of a macro, without escapes."""
        return [self.plain(each) for each in split_arguments(rest)]

    def _resolve(self, line: Line) -> tuple[Line, int]:
        """Return the line that is behind its conditions, and the depth of a block to skip."""
        for _ in range(_MOST_CONDITIONS):
            if line.macro not in ("if", "ie", "el"):
                break
            rest, holds = line.rest, True
            if line.macro == "el":
                holds = not self._held.pop() if self._held else False
            else:
                holds, rest = _condition(rest)
                if line.macro == "ie":
                    self._held.append(holds)
            if not holds:
                return Line("", ""), max(rest.count("\\{") - rest.count("\\}"), 0)
            line = _parse(rest.replace("\\{", "", 1).strip(" \t"))
        return line, 0

    def _define(self, line: Line) -> None:
        name, _, value = line.rest.partition(" ")
        if name:
            value = self.plain(value.lstrip(" ").removeprefix('"'))
            before = self._strings.get(name, "") if line.macro == "as" else ""
            self._strings[name] = (before + value)[:_LONGEST_STRING]

    def _replace(self, match: re.Match[str]) -> str:
        kind = match.lastgroup
        if kind is None:
            return ""
        found = match[kind]
        if kind == "other":
            return _ALONE.get(found, found)
        if kind in ("one", "two", "long"):
            return self._strings.get(found, "")
        return _character(found)


def split_arguments(rest: str) -> list[str]:
    """Return the arguments of a macro; quotes hold blanks, and a doubled quote is one."""
    return [
        match[2] if match[2] is not None else match[1].replace('""', '"')
        for match in _ARGUMENT.finditer(rest)
    ]


def _joined(lines: list[str]) -> Iterator[str]:
    """Yield lines without comments; one that ends with a backslash goes on in the next."""
    parts: list[str] = []
    for line in lines:
        if "\\" in line and (comment := _COMMENT.search(line)):
            line = line[: comment.start()]
            if not line.strip() or (line[0] in ".'" and not line[1:].strip()):
                continue
        if line.endswith("\\") and not line.endswith("\\\\"):
            parts.append(line[:-1])
            continue
        yield "".join((*parts, line))
        parts = []
    if parts:
        yield "".join(parts)


def _parse(raw: str) -> Line:
    control = _CONTROL.match(raw)
    if control is None:
        return Line("", raw.replace("\\}", "") if "\\}" in raw else raw)
    name = _NAME.match(raw, control.end())
    if name is None:
        return Line(" ", "")
    macro = name[0].replace("\\}", "").replace("\\{", "")
    return Line(macro or " ", raw[name.end() :].strip(" \t").replace("\\}", ""))


def _condition(rest: str) -> tuple[bool, str]:
    """Return whether a condition holds on a terminal, and what follows it.

    A register or a comparison is taken not to hold, but that the formatter is groff.
    """
    if rest.startswith(("'", '"')):  # two texts that are compared
        parts = rest.split(rest[0], 3)
        return len(parts) > 3 and parts[1] == parts[2], parts[-1]
    match = _CONDITION.match(rest)
    assert match is not None
    holds = bool(match[3]) or (match[2] in ("n", "o") and not match[4])
    return holds != bool(match[1]), rest[match.end() :]


def _starts_with(raw: str, ending: str) -> bool:
    """Return whether a line ends a definition: a request of this name."""
    return raw[:1] in ".'" and raw[1:].split(None, 1)[:1] == [ending]


def _character(name: str) -> str:
    """Return the character of a name, such as "em", "'e" or "u2014"; "" for an unknown one."""
    if name in _CHARACTERS:
        return _CHARACTERS[name]
    if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha():
        return unicodedata.normalize("NFC", name[1] + _ACCENTS[name[0]])
    codes = name[1:].split("_") if name[:1] == "u" else []
    try:
        return "".join(chr(int(code, 16)) for code in codes)
    except (ValueError, OverflowError):
        return ""
