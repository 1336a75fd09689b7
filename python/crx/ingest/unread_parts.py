"""The parts of a file that could not be read, as the error of the file names them."""

from __future__ import annotations

from collections.abc import Sequence

# Parts that an error names; the others are counted.
_NAMED = 5


def describe_unread(parts: Sequence[str], *, read: str = "") -> str:
    """Return the first parts, each with its reason, and how many more there are.

    `read` says what could be read, such as "3 messages".
    """
    more = f"; and {len(parts) - _NAMED} more" if len(parts) > _NAMED else ""
    others = f" ({read} were read)" if read else ""
    return f"{'; '.join(parts[:_NAMED])}{more}{others}"
