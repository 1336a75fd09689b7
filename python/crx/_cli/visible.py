"""Text made safe to show: control characters replaced by visible forms.

A terminal obeys escape sequences wherever they come from: a document, a file name, a model's
answer. None of them may reach it, in a pipe neither, since a pipe often ends in a terminal.
"""

from __future__ import annotations

import re
from functools import cache

from crx._controls import CONTROLS

# What JSON leaves as it is although a terminal would obey it.
_IN_JSON = "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\U000e0000-\U000e007f]"


def visible_text(text: str) -> str:
    r"""Return a text of several lines with each control but "\n" and "\t" made visible.

    `^[` is ESC (caret notation), `\xe9` a byte that is not UTF-8, U+FFFD any other.
    """
    return text if text.isprintable() else _pattern(CONTROLS).sub(_form, text)


def visible_line(text: str) -> str:
    """Return a text that must stay on one line, such as a file's name: likewise, and `^J`, `^I`."""
    return visible_text(text).replace("\n", "^J").replace("\t", "^I")


def visible_json(encoded: str) -> str:
    """Return encoded JSON with the controls that JSON need not escape escaped as `\\u....`."""
    return encoded if encoded.isprintable() else _pattern(_IN_JSON).sub(_escape, encoded)


@cache
def _pattern(characters: str) -> re.Pattern[str]:
    # Compiled when the first text is not printable: it takes 0.4 ms, and most texts are.
    return re.compile(characters)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _form(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20 or code == 0x7F:
        return f"^{chr(code ^ 0x40)}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return "\ufffd"
