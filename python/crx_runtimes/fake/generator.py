"""Answers without a model, for tests and for trying the command: `fake:`.

The answer is the first sentence of each of the first three sources in the prompt, with citations.
Options reproduce what real models do wrong: `fake:say=unknown`, `fake:stop=20`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from crx._answer.prompt import NO_ANSWER, SOURCE_PATTERN
from crx._backends.options import typed_options
from crx.errors import ModelError, UsageError

_SENTENCE = re.compile(r"[^.!?。！？]*[.!?。！？]?")
_PIECE = re.compile(r"\s*\S{1,4}|\s+")

_SAY = ("sources", "uncited", "unknown", "absent", "nothing")


class FakeGenerator:
    """A generator that repeats the sources in its prompt.

    `say`: "sources" with citations; "uncited" without them; "unknown" with a citation of no
    source; "absent", that the documents do not say; "nothing", an empty answer. `stop`: fail after
    this many characters.
    """

    def __init__(self, *, say: str = "sources", stop: int = -1, latency_s: float = 0.0) -> None:
        if say not in _SAY:
            raise UsageError(f"fake:say={say}: want {', '.join(_SAY)}")
        self._say = say
        self._stop = stop
        self._latency_s = latency_s

    @staticmethod
    def of(options: str) -> FakeGenerator:
        """Return the generator of options such as `say=unknown,stop=20,latency_s=0.01`."""
        types = {"say": str, "stop": int, "latency_s": float}
        name, given = typed_options(options, types)
        if name:
            raise UsageError(f"fake:{name}: no such option; known: {', '.join(types)}")
        return FakeGenerator(**given)

    @property
    def fingerprint(self) -> str:
        return f"fake:say={self._say},stop={self._stop} revision=1"

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        """Yield the answer in pieces of up to four characters."""
        answer = self._answer(prefix + prompt)
        whole = answer if self._stop < 0 else answer[: self._stop]
        for piece in _PIECE.findall(whole):
            time.sleep(self._latency_s)
            yield piece
        if self._stop >= 0:
            raise ModelError(f"fake: set to stop after {self._stop} characters")

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _answer(self, prompt: str) -> str:
        if self._say in ("absent", "nothing"):
            return NO_ANSWER if self._say == "absent" else ""
        sentences = []
        for found in list(SOURCE_PATTERN.finditer(prompt))[:3]:
            sentence = " ".join(_first_sentence(found["text"]).split())
            number = {"sources": found["number"], "unknown": "999"}.get(self._say)
            sentences.append(f"{sentence} [{number}]" if number else sentence)
        return " ".join(sentences) or NO_ANSWER


def _first_sentence(text: str) -> str:
    """Return the first sentence of a source, headings left out."""
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    found = _SENTENCE.match(prose.strip())
    return found[0] if found else ""


def load_generator(rest: str) -> FakeGenerator:
    """Return the generator of `fake:REST`."""
    return FakeGenerator.of(rest)
