r"""Letters that LaTeX writes as commands, such as `\"o`, `{\ss}` and `\c{c}`, as printed."""

from __future__ import annotations

import re
import unicodedata

_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306",
    ".": "\u0307", '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323",
    "c": "\u0327", "k": "\u0328", "b": "\u0331",
}  # fmt: skip
_LETTERS = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "o": "ø",
    "O": "Ø", "l": "ł", "L": "Ł", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð", "dj": "đ", "DJ": "Đ",
    "ng": "ŋ", "NG": "Ŋ", "th": "þ", "TH": "Þ",
}  # fmt: skip
_LETTER = r"(?:\{[ ]?(?P<braced>\\[ij]|[A-Za-z])[ ]?\}|(?P<bare>\\[ij](?![A-Za-z])[ ]?|[A-Za-z]))"
_SIGN, _NAME = "|".join(map(re.escape, "`'^~=.\"")), "|".join("uvHcdbrk")
# An accent that is named by a letter has its letter in braces or after a blank.
_ACCENT = re.compile(
    rf"(?P<open>\{{)?\\(?:(?P<sign>{_SIGN})[ ]?|(?P<name>{_NAME})(?=\{{|[ ])[ ]?){_LETTER}"
    r"(?(open)\}|)"
)
_COMMAND = re.compile(
    rf"\{{\\(?P<braced>{'|'.join(_LETTERS)})[ ]?\}}"
    rf"|\\(?P<bare>{'|'.join(sorted(_LETTERS, key=len, reverse=True))})(?![A-Za-z])(?:\{{\}}|[ ])?"
)
_DOTLESS = {"\\i": "i", "\\j": "j"}


def print_letters(source: str) -> str:
    """Return a source with the letters that its commands print; its lines stay where they are."""
    if "\\" not in source:
        return source
    return _COMMAND.sub(_letter, _ACCENT.sub(_accented, source))


def _accented(match: re.Match[str]) -> str:
    letter = match["braced"] or match["bare"].rstrip(" ")
    accent = _ACCENTS[match["sign"] or match["name"]]
    accented = unicodedata.normalize("NFC", _DOTLESS.get(letter, letter) + accent)
    return accented if len(accented) == 1 else match[0]


def _letter(match: re.Match[str]) -> str:
    return _LETTERS[match["braced"] or match["bare"]]
