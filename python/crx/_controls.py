"""The characters of a text that are not shown as they are: controls, and what reorders or hides."""

from __future__ import annotations

# C0 but newline and tab, DEL and C1; marks of direction and line separators, which reorder or
# break what is shown; surrogates, which stand for bytes that are not UTF-8 and cannot be printed;
# tags, which are not shown and carry text to whatever reads what was copied.
CONTROLS = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
