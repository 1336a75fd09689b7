"""Answers to the prompts of groups, as the local services write them."""

from __future__ import annotations

import re

DIGEST = "Tales of a heron that count from one to ten."
_CHUNK = re.compile(r"^\[(\d+)\] [^\w\n]*(\w+)", re.MULTILINE)


def line_of(number: str) -> str:
    """Return the line for the paragraph of a number."""
    return f"The part of the whole that begins its tale with {number}."


def answer_groups(prompt: str) -> str:
    """Return one line for each numbered chunk of a prompt, or a digest if it has none."""
    chunks = prompt.rpartition("<chunks>\n")[2] if "<chunks>" in prompt else ""
    lines = [f"[{number}] {line_of(word)}" for number, word in _CHUNK.findall(chunks)]
    return "\n".join(lines) or DIGEST
