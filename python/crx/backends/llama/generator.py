"""`llama:PATH`: answers from an instruct model in a GGUF file, on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

from crx.backends.llama.contextualizer import Llama, LlamaOptions
from crx.backends.options import typed_options
from crx.backends.process.supervisor import CutShort, Unanswered
from crx.context.compute_usage import ComputeUsage
from crx.errors import ModelError
from crx.remote.answer_request import token_limit_message

# About 700 words; a small model that repeats itself is stopped here.
MAX_TOKENS = 1024


class LlamaGenerator:
    """A generator over a GGUF file. A prefix stays computed until another one comes."""

    def __init__(self, path: str | Path, *, settings: LlamaOptions | None = None) -> None:
        self._name = f"llama:{path}"
        self._settings = settings or LlamaOptions(max_tokens=MAX_TOKENS)
        self._llama = Llama(path, settings=replace(self._settings, places=1))

    @property
    def fingerprint(self) -> str:
        """That of the model, its frame and settings; decoding is greedy."""
        return self._llama.fingerprint

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about the model, a line each."""
        return self._llama.notes

    @property
    def usage(self) -> ComputeUsage:
        """What has been computed so far."""
        return self._llama.usage

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        """Yield the answer as it is decoded; raises `ModelError` where it has no end."""
        try:
            yield from self._llama.speak(prefix, prompt)
        except CutShort:
            raise ModelError(token_limit_message(self._name, self._settings.max_tokens)) from None
        except Unanswered as why:
            raise ModelError(f"{self._name}: {why}; ask with fewer or shorter passages") from None
        except ModelError as error:
            raise ModelError(f"{self._name}: {error}") from None

    def close(self) -> None:
        """End the child process."""
        self._llama.close()


def load_generator(rest: str) -> LlamaGenerator:
    """Return the generator of `llama:REST`."""
    types: dict[str, type] = {
        f.name: type(f.default) for f in fields(LlamaOptions) if f.name != "places"
    }
    path, options = typed_options(rest, types)
    return LlamaGenerator(path, settings=LlamaOptions(**{"max_tokens": MAX_TOKENS, **options}))
