"""The forms of an embedder, and which is fastest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from crx._backends.hashed import HashedEmbedder
from crx._cli import embedder_speed
from crx._cli.embedder_speed import PROBE_S, FormSpeed, list_forms, measure_forms
from crx.errors import ModelError


class Clock:
    """A clock that embedders move on."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class TimedEmbedder(HashedEmbedder):
    """An embedder that takes `seconds` for a text."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__(dimensions=8)
        self._clock, self._seconds = clock, seconds

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        self._clock.seconds += len(texts) * self._seconds
        return super().embed(texts, query=query)


def test_the_fastest_form_is_first_and_one_that_cannot_run_last_with_the_reason() -> None:
    clock = Clock()

    def load(spec: str) -> TimedEmbedder:
        if spec == "absent":
            raise ModelError("absent: no such model")
        return TimedEmbedder(clock, {"slow": 0.125, "fast": 0.0625}[spec])

    assert measure_forms(["slow", "absent", "fast"], load=load, clock=clock) == [
        FormSpeed("fast", 16.0),
        FormSpeed("slow", 8.0),
        FormSpeed("absent", 0.0, "absent: no such model"),
    ]
    assert clock.seconds < PROBE_S + 2


@pytest.mark.parametrize("spec", ["e5", "e5@int8", "openvino:e5", "openvino:e5:arithmetic=bf16"])
def test_a_model_of_the_store_has_the_forms_that_are_installed(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder_speed, "is_installed", lambda name: name in ("e5", "e5@int8"))
    monkeypatch.setattr(embedder_speed, "find_spec", lambda name: None)
    assert list_forms(spec) == ["e5", "e5@int8"]
    monkeypatch.setattr(embedder_speed, "find_spec", lambda name: object())
    assert list_forms(spec)[2:] == ["openvino:e5", "openvino:e5:arithmetic=bf16"]


def test_an_embedder_outside_the_store_has_one_form() -> None:
    assert list_forms("hashed:d=64") == ["hashed:d=64"]
