r"""Characters that JSON and other formats write as `\u0141`."""

from __future__ import annotations

import re

# From the first backslash of its run on: a pattern that begins with a character is found quickest.
_ESCAPES = re.compile(r"\\(?<!\\\\)((?:\\\\)*)(u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})*)")


def decode_escapes(text: str) -> str:
    """Return a text with the characters that its escapes name, on the same lines.

    Quotes, backslashes and what is not printed stay escaped.
    """
    return _ESCAPES.sub(_characters, text) if "\\u" in text else text


def _characters(escapes: re.Match[str]) -> str:
    written = bytes.fromhex(escapes[2].replace("\\", "").replace("u", ""))
    characters = written.decode("utf-16-be", "surrogatepass")
    return escapes[1] + "".join(
        char if char.isprintable() and char not in "\"'\\" else f"\\u{ord(char):04x}"
        for char in characters
    )
