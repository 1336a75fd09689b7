"""The answer of a model service to one request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Completion:
    """The text of an answer.

    `finished` is False if it ended at the token limit; `refused` is True if the service declined.
    """

    text: str
    finished: bool = True
    refused: bool = False
