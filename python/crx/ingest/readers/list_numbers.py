"""Numbers of list items and headings, as word processors write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_MOST_ROMAN = 3_999
_MOST_LETTERS = 26 * 30  # Word repeats a letter: Z, AA, BB
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_CHINESE = "〇一二三四五六七八九"
# Alphabets of Word (ECMA-376 Part 1, 17.18.59), whose letters number items; then digits go on.
_ALPHABETS = {
    "ideographTraditional": "甲乙丙丁戊己庚辛壬癸",
    "ideographZodiac": "子丑寅卯辰巳午未申酉戌亥",
    "decimalEnclosedCircle": "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳",
    "decimalEnclosedParen": "⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽⑾⑿⒀⒁⒂⒃⒄⒅⒆⒇",
    "aiueoFullWidth": "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモ"
    "ヤユヨラリルレロワヲン",
    "irohaFullWidth": "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテ"
    "アサキユメミシヱヒモセスン",
    "ganada": "가나다라마바사아자차카타파하",
    "russianLower": "абвгдежзиклмнопрстуфхцчшщыэюя",
    "hebrew2": "אבגדהוזחטיכלמנסעפצקרשת",
    "arabicAlpha": "أبتثجحخدذرزسشصضطظعغفقكلمنهوي",
}
_ALPHABETS |= {
    "russianUpper": _ALPHABETS["russianLower"].upper(),
    "decimalEnclosedCircleChinese": _ALPHABETS["decimalEnclosedCircle"],
    "aiueo": _ALPHABETS["aiueoFullWidth"],
    "iroha": _ALPHABETS["irohaFullWidth"],
    "arabicAbjad": "أبجدهوزحطيكلمنسعفصقرشتثخذضظغ",
}
_COUNTING = frozenset((
    "chineseCounting", "chineseCountingThousand", "chineseLegalSimplified", "japaneseCounting",
    "taiwaneseCounting", "taiwaneseCountingThousand", "ideographDigital", "koreanCounting",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListLevel:
    """How the items of one level of a list are numbered.

    `pieces` are the parts of the number: a text, or the level from 0 whose number stands there.
    `format` is the name that Word has for it.
    """

    format: str
    pieces: tuple[str | int, ...] = ()
    start: int = 1
    restarts_after: int | None = None  # the innermost level whose items restart it; None for any
    is_decimal: bool = False  # of all numbers in it, whatever the formats of their levels

    @property
    def is_bullet(self) -> bool:
        return self.format == "bullet"


class ListCounters:
    """The numbers so far of the levels of a list."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def restart(self, level: int, start: int) -> None:
        """Let the next item of a level have a number."""
        self._counts[level] = start - 1

    def number_next(self, level: int, level_of: Callable[[int], ListLevel | None]) -> str:
        """Count an item of a level; return its number, "" if it has none."""
        own = level_of(level)
        if own is None:
            return ""
        self._counts[level] = self._counts.get(level, own.start - 1) + 1
        for deeper in [each for each in self._counts if each > level]:
            after = other.restarts_after if (other := level_of(deeper)) else None
            if after is None or level < after:
                del self._counts[deeper]
        return "".join(
            piece if isinstance(piece, str) else self._format(piece, own, level_of)
            for piece in own.pieces
        ).strip()

    def _format(
        self, level: int, own: ListLevel, level_of: Callable[[int], ListLevel | None]
    ) -> str:
        shown = level_of(level)
        if shown is None:
            return ""
        count = self._counts.setdefault(level, shown.start)
        return format_count(count, "decimal" if own.is_decimal else shown.format)


def format_count(count: int, name: str) -> str:
    """Return a number in one of Word's formats; as decimal digits in one that is not known."""
    if name in ("none", "bullet"):
        return ""
    if name in ("lowerRoman", "upperRoman") and 0 < count <= _MOST_ROMAN:
        return _cased(_roman(count), name)
    if name in ("lowerLetter", "upperLetter") and 0 < count <= _MOST_LETTERS:
        return _cased(_LATIN[(count - 1) % 26] * ((count - 1) // 26 + 1), name)
    if name in _ALPHABETS and 0 < count <= len(_ALPHABETS[name]):
        return _ALPHABETS[name][count - 1]
    if name in _COUNTING and 0 < count < 100:
        return _count_in_chinese(count)
    if name == "decimalZero":
        return f"{count:02d}"
    if name == "ordinal":
        return f"{count}{_ordinal_suffix(count)}"
    return str(count)


def prefixed(number: str, text: str) -> str:
    """Return a text behind its number."""
    return f"{number} {text.lstrip()}" if number and text.strip() else text


def split_pattern(pattern: Sequence[str]) -> tuple[str | int, ...]:
    """Return the pieces of a level from texts in turn with the numbers of levels from 1."""
    return tuple(
        int(piece) - 1 if at % 2 else piece for at, piece in enumerate(pattern) if piece or at % 2
    )


def _cased(written: str, name: str) -> str:
    return written.upper() if name.startswith("upper") else written


def _roman(count: int) -> str:
    written = ""
    for value, letters in _ROMAN:
        written += letters * (count // value)
        count %= value
    return written


def _count_in_chinese(count: int) -> str:
    tens, ones = divmod(count, 10)
    before = ("" if tens == 1 else _CHINESE[tens]) + "十" if tens else ""
    return before + (_CHINESE[ones] if ones else "")


def _ordinal_suffix(count: int) -> str:
    if count % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
