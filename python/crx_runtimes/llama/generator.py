"""Streamed answers from an instruct model in a GGUF file, on this machine: `llama:PATH`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from crx._backends.options import token_limit_message, typed_options
from crx._services.compute_usage import ComputeUsage
from crx.errors import ModelError
from crx_runtimes.llama.contextualizer import Llama
from crx_runtimes.llama.options import OPTION_TYPES, LlamaOptions, make_options
from crx_runtimes.model_process import PromptRejected, TokenLimitReached

# About 700 words, so that a small model that repeats itself is stopped.
MAX_TOKENS = 1024


class LlamaGenerator:
    """A generator over a GGUF file. The last prefix stays computed for the next prompt."""

    def __init__(self, path: str | Path, *, settings: LlamaOptions | None = None) -> None:
        self._name = f"llama:{path}"
        self._settings = settings or LlamaOptions(max_tokens=MAX_TOKENS)
        self._llama = Llama(path, settings=replace(self._settings, slots=1))

    @property
    def fingerprint(self) -> str:
        """The model, its chat template and settings; decoding is greedy."""
        return self._llama.fingerprint

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the model, one line each."""
        return self._llama.notes

    @property
    def usage(self) -> ComputeUsage:
        """The computation so far."""
        return self._llama.usage

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        """Yield the answer as it is decoded; raise `ModelError` if it does not complete."""
        try:
            yield from self._llama.stream_answer(prefix, prompt)
        except TokenLimitReached:
            raise ModelError(token_limit_message(self._name, self._settings.max_tokens)) from None
        except PromptRejected as why:
            raise ModelError(f"{self._name}: {why}; ask with fewer or shorter passages") from None
        except ModelError as error:
            raise ModelError(f"{self._name}: {error}") from None

    def close(self) -> None:
        """End the child process."""
        self._llama.close()


def load_generator(rest: str) -> LlamaGenerator:
    """Return the generator of `llama:REST`."""
    types = {name: kind for name, kind in OPTION_TYPES.items() if name != "places"}
    path, options = typed_options(rest, types)
    return LlamaGenerator(path, settings=make_options({"max_tokens": MAX_TOKENS, **options}))
