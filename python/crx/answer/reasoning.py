"""Some models think aloud before they answer: what is heard of them begins after that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_TAGS = ("think", "thinking", "thought")


def spoken(pieces: Iterable[str], *, thinking: bool = False) -> Iterator[str]:
    """Yield an answer's pieces without the thoughts and the blanks that it begins with.

    `thinking` says that it begins inside a thought. What looks like a thought further on is text:
    an answer may well speak of such tags. A thought without end leaves nothing.
    """
    held, begun = f"<{_TAGS[0]}>" if thinking else "", False
    for piece in pieces:
        if begun:
            yield piece
            continue
        held = _after_thoughts(held + piece)
        begun = bool(held) and not _may_be_thought(held)
        if begun:
            yield held
    if held and not begun and not _opened(held):
        yield held


def _after_thoughts(text: str) -> str:
    """Return what follows the finished thoughts at a text's beginning."""
    text = text.lstrip()
    while tag := _opened(text):
        end = text.find(f"</{tag}>")
        if end < 0:
            break
        text = text[end + len(tag) + 3 :].lstrip()
    return text


def _opened(text: str) -> str:
    """Return the tag that a text begins with, "" for none."""
    return next((tag for tag in _TAGS if text.startswith(f"<{tag}>")), "")


def _may_be_thought(text: str) -> bool:
    return bool(_opened(text)) or any(f"<{tag}>".startswith(text) for tag in _TAGS)
