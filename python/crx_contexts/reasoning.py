"""Removal of the reasoning block (`<think>`) that some models write before their answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_TAGS = ("think", "thinking", "thought")


def strip_reasoning(pieces: Iterable[str], *, starts_inside: bool = False) -> Iterator[str]:
    """Yield the pieces of an answer without its leading reasoning blocks and whitespace.

    `starts_inside` is for models whose prompt ends with the opening tag. Tags further on are kept,
    because an answer may be about them. If a leading block is not closed, nothing is yielded.
    """
    waiting, started = f"<{_TAGS[0]}>" if starts_inside else "", False
    for piece in pieces:
        if started:
            yield piece
            continue
        waiting = _skip_closed_blocks(waiting + piece)
        started = bool(waiting) and not _may_open_block(waiting)
        if started:
            yield waiting
    if waiting and not started and not _opening_tag(waiting):
        yield waiting


def _skip_closed_blocks(text: str) -> str:
    """Return what follows the closed reasoning blocks at the start of a text."""
    text = text.lstrip()
    while tag := _opening_tag(text):
        end = text.find(f"</{tag}>")
        if end < 0:
            break
        text = text[end + len(tag) + 3 :].lstrip()
    return text


def _opening_tag(text: str) -> str:
    """Return the name of the reasoning tag that a text starts with, or ""."""
    return next((tag for tag in _TAGS if text.startswith(f"<{tag}>")), "")


def _may_open_block(text: str) -> bool:
    return bool(_opening_tag(text)) or any(f"<{tag}>".startswith(text) for tag in _TAGS)
