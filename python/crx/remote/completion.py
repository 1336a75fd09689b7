"""What a model service answered to one request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Completion:
    """The text of an answer. `finished` is False if it ended at the token limit."""

    text: str
    finished: bool = True
    refused: bool = False
