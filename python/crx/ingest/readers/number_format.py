"""Number formats of spreadsheets (ECMA-376 Part 1, 18.8.30 and 18.8.31): values as they are shown.

A code is parsed once, in one pass over at most 255 characters, the most that a workbook may have.
Names of months and days, and separators, are those of English. A date format that follows the
system of the reader (the built-in formats 14 and 22 among them) is shown as ISO 8601.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Literal, TypeAlias

from crx._native import show_date, show_fixed_point, show_general

GENERAL = "General"
ISO_DATE, ISO_TIME = "yyyy-mm-dd", "hh:mm:ss"
# Fields under other names: years of other calendars are those of the common one, eras are left out.
_FIELDS = {"e": "yyyy", "ee": "yyyy", "b": "yyyy", "bb": "yyyy", "bbbb": "yyyy", "yyy": "yyyy"}
# The formats that a workbook names by number alone. Those of dates that follow the system, among
# them the ones of East Asian systems, are ISO 8601.
BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: '"$"#,##0_);("$"#,##0)',
    6: '"$"#,##0_);("$"#,##0)', 7: '"$"#,##0.00_);("$"#,##0.00)',
    8: '"$"#,##0.00_);("$"#,##0.00)', 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?",
    13: "# ??/??", 14: ISO_DATE, 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: f"{ISO_DATE} h:mm",
    37: "#,##0_);(#,##0)", 38: "#,##0_);(#,##0)", 39: "#,##0.00_);(#,##0.00)",
    40: "#,##0.00_);(#,##0.00)", 41: '_(* #,##0_);_(* (#,##0);_(* "-"_);_(@_)',
    42: '_("$"* #,##0_);_("$"* (#,##0);_("$"* "-"_);_(@_)',
    43: '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)',
    44: '_("$"* #,##0.00_);_("$"* (#,##0.00);_("$"* "-"??_);_(@_)', 45: "mm:ss", 46: "[h]:mm:ss",
    47: "mm:ss.0", 48: "##0.0E+0", 49: "@",
    **dict.fromkeys((*range(27, 37), *range(50, 59)), ISO_DATE),
    **dict.fromkeys((32, 33), "h:mm"),
}  # fmt: skip
# Formats that follow the system of the reader, whatever code the writer's system had for them.
_SYSTEM_DATES = frozenset((14, 22, *range(27, 37), *range(50, 59)))
_LONGEST_CODE = 255
# Numbers have 15 significant digits in a workbook; whole ones are exact up to this.
_EXACT = 2**53
_DIGITS = 15
_ENTERED = Context(prec=_DIGITS, rounding=ROUND_HALF_UP)
_CONTEXT = Context(prec=700)  # digits of the largest number, its decimals and its scale

_Kind = Literal[
    "text", "digit", "point", "comma", "percent", "exponent", "slash", "date", "general", "at"
]
_Token = tuple[_Kind, str]
# A row of digits: the text before, whether thousands have commas, decimals, the text after, and
# the decimals to shift by. The core shows it.
_FixedPoint: TypeAlias = tuple[str, bool, int, str, int]
# The same, and whether a number below zero has a minus.
FixedPoint: TypeAlias = tuple[str, bool, int, str, int, bool]
# A format that the core shows: a row of digits, or the tokens of a date. None is for another.
_Format: TypeAlias = FixedPoint | tuple[_Token, ...] | None
# Those of numbers above zero, below zero and of zero.
FormatsBySign: TypeAlias = tuple[_Format, _Format, _Format]

_TOKEN = re.compile(
    r"""
      "(?P<quoted>[^"]*)"? | \\(?P<escaped>.?) | _(?P<space>.?) | \*(?P<fill>.?)
    | \[(?P<bracket>[^\]]*)\]? | (?P<general>general)
    | (?P<date>am/pm|a/p|y+|m+|d+|h+|s+|b+|g+|e(?![+-])+)
    | (?P<exponent>e[+-]) | (?P<digit>[0#?]) | (?P<point>\.) | (?P<comma>,) | (?P<percent>%)
    | (?P<slash>/) | (?P<at>@) | (?P<section>;) | (?P<text>.)
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_ONE_ROW = re.compile(r"(?:(#,##)|#*)0(?:\.(0+))?")
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*([+-]?\d+(?:\.\d+)?)")
_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)
_SYSTEM = {"$-f800": ISO_DATE, "$-f400": ISO_TIME, "$-x-sysdate": ISO_DATE, "$-x-systime": ISO_TIME}


@dataclass(frozen=True, slots=True)
class _Section:
    """One of the codes between semicolons: its tokens, and the numbers that it is for."""

    tokens: tuple[_Token, ...]
    operator: str = ""
    limit: float = 0.0
    kinds: frozenset[str] = frozenset()
    fixed_point: _FixedPoint | None = None

    def accepts(self, value: float) -> bool:
        if self.operator in ("<", "<="):
            return value < self.limit or (self.operator == "<=" and value == self.limit)
        if self.operator in (">", ">="):
            return value > self.limit or (self.operator == ">=" and value == self.limit)
        return (value == self.limit) == (self.operator == "=")


def format_code(number: int, own: Mapping[int, str]) -> str:
    """Return the code of a format by its number; `own` are those that the workbook defines."""
    if number in _SYSTEM_DATES:
        return BUILT_IN[number]
    return own.get(number) or BUILT_IN.get(number, GENERAL)


def show_number(value: float, code: str, *, from_1904: bool = False) -> str:
    """Return a number as the format shows it; dates count from 1904 if the workbook says so."""
    if code == GENERAL or not isfinite(value):
        return show_general(value)
    section, is_absolute = _choose(_parse(code), value)
    if not section.tokens:
        return ""
    if "date" in section.kinds:
        shown = show_date(value, section.tokens, from_1904=from_1904)
        return show_general(value) if shown is None else shown
    if "general" in section.kinds or ("at" in section.kinds and "digit" not in section.kinds):
        number = show_general(abs(value) if is_absolute else value)
        return _fill_in(section.tokens, number)
    if section.fixed_point:
        return show_fixed_point(value, (*section.fixed_point, not is_absolute))
    exact = _exact(abs(value))
    if "exponent" in section.kinds:
        shown, is_zero = _show_scientific(exact, section.tokens)
    elif "slash" in section.kinds and (fraction := _show_fraction(exact, section.tokens)):
        shown, is_zero = fraction, False
    else:
        shown, is_zero = _show_decimal(exact, section.tokens)
    return f"-{shown}" if value < 0 and not is_absolute and not is_zero else shown


def formats_by_sign(code: str) -> FormatsBySign:
    """Return the formats of numbers above zero, below zero and of zero.

    None stands for one that the core does not know, or that depends on more than the sign.
    """
    sections = _parse(code)
    if any(section.operator for section in sections):
        return None, None, None
    above, below, zero = (_choose(sections, value) for value in (1.0, -1.0, 0.0))
    return _known(*above), _known(*below), _known(*zero)


def _known(section: _Section, is_absolute: bool) -> _Format:  # noqa: FBT001 - of `_choose`
    if "date" in section.kinds:
        return section.tokens
    return (*section.fixed_point, not is_absolute) if section.fixed_point else None


def formats_text(code: str) -> bool:
    """Return whether a format shows texts otherwise than as they are."""
    return show_text("x", code) != "x"


def show_text(value: str, code: str) -> str:
    """Return a text as the format shows it: in its section of texts, or as it is."""
    if code == GENERAL or "@" not in code:
        return value
    sections = _parse(code)
    section = sections[3] if len(sections) > 3 else sections[-1]
    return _fill_in(section.tokens, value) if "at" in section.kinds else value


def _fill_in(tokens: tuple[_Token, ...], value: str) -> str:
    return "".join(value if kind in ("general", "at") else text for kind, text in tokens)


def _exact(value: float) -> Decimal:
    """Return the number that a person entered: 15 digits of the shortest one that is stored so."""
    if abs(value) < _EXACT and value.is_integer():
        return Decimal(int(value))
    return _ENTERED.create_decimal(repr(value))


def _parse(code: str) -> tuple[_Section, ...]:
    """Return the sections of a code, at most four; those of the general one if it is too long."""
    return _parse_short(code) if len(code) <= _LONGEST_CODE else _parse_short(GENERAL)


@lru_cache(maxsize=1_000)
def _parse_short(code: str) -> tuple[_Section, ...]:
    sections: list[_Section] = []
    tokens: list[_Token] = []
    operator, limit = "", 0.0
    for match in _TOKEN.finditer(code):
        kind, text = match.lastgroup or "text", match[match.lastgroup or 0]
        if kind == "section":
            sections.append(_section(tokens, operator, limit))
            tokens, operator, limit = [], "", 0.0
        elif kind == "bracket":
            if system := _SYSTEM.get(text.lower()):
                return (*sections, *_parse(system))[:4]
            if condition := _CONDITION.fullmatch(text):
                operator, limit = condition[1], float(condition[2])
            tokens += _bracket_tokens(text)
        else:
            tokens.append(_token(kind, text))
    sections.append(_section(tokens, operator, limit))
    return tuple(sections[:4])


def _section(tokens: Sequence[_Token], operator: str, limit: float) -> _Section:
    kinds = frozenset(kind for kind, _ in tokens)
    return _Section(tuple(tokens), operator, limit, kinds, _one_row(tokens))


def _one_row(tokens: Sequence[_Token]) -> _FixedPoint | None:
    """Return a section of most workbooks, such as `#,##0.00 "km"` or `0%`, None for another."""
    positions = [at for at, (kind, _) in enumerate(tokens) if kind in ("digit", "point", "comma")]
    if not positions:
        return None
    start, end = positions[0], positions[-1] + 1
    written = "".join(text for _, text in tokens[start:end])
    outside = (*tokens[:start], *tokens[end:])
    match = _ONE_ROW.fullmatch(written)
    if not match or not all(kind in ("text", "percent") for kind, _ in outside):
        return None
    before = "".join(text for _, text in tokens[:start])
    after = "".join(text for _, text in tokens[end:])
    shift = 2 * sum(1 for kind, _ in outside if kind == "percent")
    return before, bool(match[1]), len(match[2] or ""), after, shift


def _token(kind: str, text: str) -> _Token:
    match kind:
        case "quoted" | "escaped":
            return "text", text
        case "space":
            return "text", " "
        case "fill":
            return "text", ""
        case "date":
            return "date", _FIELDS.get(text.lower(), text.lower())
        case (
            "digit" | "point" | "comma" | "percent" | "exponent" | "slash" | "general" | "at"
        ) as same:
            return same, text
    return "text", text


def _bracket_tokens(text: str) -> list[_Token]:
    """Return what brackets show: a currency, elapsed time; nothing for a color or a language."""
    if text.startswith("$"):
        return [("text", text[1:].partition("-")[0])]
    return [("date", f"[{text.lower()[0]}]{len(text)}")] if _ELAPSED.fullmatch(text) else []


def _choose(sections: tuple[_Section, ...], value: float) -> tuple[_Section, bool]:
    """Return the section of a number, and whether that shows it without its sign."""
    numeric = sections[:3] if len(sections) > 3 or "at" not in sections[-1].kinds else sections[:-1]
    numeric = numeric or sections
    if any(section.operator for section in numeric):
        for at, section in enumerate(numeric):
            is_last = at == len(numeric) - 1
            below_zero = section.operator in ("<", "<=") and section.limit <= 0
            if section.operator and section.accepts(value):
                return section, below_zero and at > 0
            if not section.operator and (is_last or (at == 1 and value < 0)):
                return section, value < 0 and at == 1 and len(numeric) > 2
        return numeric[-1], False
    if len(numeric) == 1 or value > 0 or (value == 0 and len(numeric) < 3):
        return numeric[0], False
    return (numeric[1], True) if value < 0 else (numeric[2], False)


def _show_decimal(value: Decimal, tokens: tuple[_Token, ...]) -> tuple[str, bool]:
    """Return a number without a sign in its positions, and whether it is rounded to zero."""
    kinds = [kind for kind, _ in tokens]
    point = kinds.index("point") if "point" in kinds else len(tokens)
    whole_places = [at for at in range(point) if kinds[at] == "digit"]
    last = whole_places[-1] if whole_places else point
    commas = [at for at in range(point) if kinds[at] == "comma"]
    is_grouped = any(whole_places and whole_places[0] < at < last for at in commas)
    after = sum(1 for at in range(point, len(tokens)) if kinds[at] == "comma")
    thousands = sum(1 for at in commas if at > last) + after
    value = value.scaleb(2 * kinds.count("percent") - 3 * thousands, _CONTEXT)
    decimals = kinds[point:].count("digit")
    rounded = value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, _CONTEXT)
    whole, _, fraction = f"{rounded:f}".partition(".")
    shown = _lay_out(tokens, point, whole.lstrip("0"), fraction, is_grouped=is_grouped)
    return shown, not rounded


def _lay_out(
    tokens: tuple[_Token, ...], point: int, whole: str, fraction: str, *, is_grouped: bool
) -> str:
    """Return the digits of a number in the positions of its section, with what stands between."""
    positions = sum(1 for kind, _ in tokens[:point] if kind == "digit")
    parts: list[str] = []
    left, used = positions, 0
    kept = len(fraction.rstrip("0"))
    decimals = [text for kind, text in tokens[point:] if kind == "digit"]
    has_decimals = kept > 0 or "0" in decimals or not decimals
    if not positions and whole and any(kind == "digit" for kind, _ in tokens):
        first = next(at for at, (kind, _) in enumerate(tokens) if kind in ("point", "digit"))
        tokens = (*tokens[:first], ("text", whole), *tokens[first:])
        point += 1
    for at, (kind, text) in enumerate(tokens):
        if kind == "digit" and at < point:
            for position in range(
                max(left, len(whole) if left == positions else 0) - 1, left - 2, -1
            ):
                digit = whole[-1 - position] if position < len(whole) else _blank(text)
                parts.append(digit)
                if is_grouped and position and position % 3 == 0 and digit.strip():
                    parts.append(",")
            left -= 1
        elif kind == "digit":
            parts.append(fraction[used] if used < kept else _blank(text))
            used += 1
        elif kind in ("text", "percent", "slash") or (kind == "point" and has_decimals):
            parts.append(text)
    return "".join(parts)


def _blank(position: str) -> str:
    """Return what stands in a position without a digit."""
    return {"0": "0", "?": " "}.get(position, "")


def _show_scientific(value: Decimal, tokens: tuple[_Token, ...]) -> tuple[str, bool]:
    """Return a number with its exponent, a multiple of the positions before the point."""
    at = next(i for i, (kind, _) in enumerate(tokens) if kind == "exponent")
    mantissa, rest = tokens[:at], tokens[at + 1 :]
    kinds = [kind for kind, _ in mantissa]
    point = kinds.index("point") if "point" in kinds else len(kinds)
    step = max(kinds[:point].count("digit"), 1)
    unit = Decimal(1).scaleb(-kinds[point:].count("digit"))
    exponent = value.adjusted() // step * step if value else 0
    rounded = value.scaleb(-exponent, _CONTEXT).quantize(unit, ROUND_HALF_UP, _CONTEXT)
    if rounded >= 10**step:
        exponent += step
        rounded = value.scaleb(-exponent, _CONTEXT).quantize(unit, ROUND_HALF_UP, _CONTEXT)
    whole, _, fraction = f"{rounded:f}".partition(".")
    digits = _lay_out(mantissa, point, whole.lstrip("0"), fraction, is_grouped=False)
    sign = "-" if exponent < 0 else "+" if tokens[at][1][1] == "+" else ""
    width = sum(1 for kind, _ in rest if kind == "digit")
    suffix = "".join(text for kind, text in rest if kind == "text")
    return f"{digits}E{sign}{abs(exponent):0{width}d}{suffix}", not value


def _show_fraction(value: Decimal, tokens: tuple[_Token, ...]) -> str:
    """Return a number as a fraction, "" if the section has none."""
    slash = next(i for i, (kind, _) in enumerate(tokens) if kind == "slash")
    start, end = slash, slash + 1
    while start and tokens[start - 1][0] == "digit":
        start -= 1
    while end < len(tokens) and (tokens[end][0] == "digit" or tokens[end][1].isdecimal()):
        end += 1
    if start == slash or end == slash + 1:
        return ""
    below = "".join(text for _, text in tokens[slash + 1 : end])
    has_whole = any(kind == "digit" for kind, _ in tokens[:start])
    whole = int(value) if has_whole else 0
    rest = Fraction(value) - whole
    if below.isdecimal() and int(below):
        bottom = int(below)
        top = int(rest * bottom + Fraction(1, 2))
    else:
        nearest = rest.limit_denominator(10 ** min(len(below), 9) - 1)
        top, bottom = nearest.numerator, nearest.denominator
    if has_whole and top == bottom:
        whole, top = whole + 1, 0
    shown = [str(whole)] if has_whole and (whole or not top) else []
    shown += [f"{top}/{bottom}"] if top or not has_whole else []
    before = "".join(text for kind, text in tokens[:start] if kind == "text").strip()
    after = "".join(text for kind, text in tokens[end:] if kind == "text").strip()
    return f"{before}{' '.join(shown)}{after}"
