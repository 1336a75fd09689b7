"""Choose what answers a prompt.

A generator is named by a specification:

- `llama:PATH`: an instruct model in a GGUF file; options follow, as in `llama:PATH:max_tokens=500`
- `claude`, `claude:MODEL`: the Messages API
- `openai:URL#MODEL`: a server that speaks the chat completions API
- `fake:`, `fake:say=unknown`: no model, for trying the way there
- `NAME:REST`: a plug of the entry point group `crx.generators`, called with `REST`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from crx.backends.spec import typed_options
from crx.errors import UsageError
from crx.protocols import Generator
from crx.spend import parse_price

GROUP = "crx.generators"


def load_generator(spec: str) -> Generator:
    """Return the generator that a specification names.

    Raises `UsageError` for an unknown one, `ModelError` where its model, package or key is
    missing, `Offline`.
    """
    name, _, rest = spec.partition(":")
    if loader := _LOADERS.get(name):
        return loader(rest)
    plugs = _plugs()
    if name not in plugs:
        known = ", ".join(sorted({*_LOADERS, *plugs}))
        raise UsageError(
            f"{spec}: no such generator; known: {known}, as in llama:PATH or claude:MODEL"
        )
    generator = plugs[name].load()(rest)
    if not isinstance(generator, Generator):
        raise UsageError(f"{spec}: {type(generator).__name__} is no generator; mend the plug")
    return generator


def _fake(rest: str) -> Generator:
    from crx.backends.fake_answers import FakeAnswers

    return FakeAnswers.of(rest)


def _llama(rest: str) -> Generator:
    from crx.backends.llama import Settings
    from crx.backends.llama_answers import MAX_TOKENS, LlamaAnswers

    types: dict[str, type] = {
        f.name: type(f.default) for f in fields(Settings) if f.name != "places"
    }
    path, given = typed_options(rest, types)
    return LlamaAnswers(path, settings=Settings(**{"max_tokens": MAX_TOKENS, **given}))


def _claude(rest: str) -> Generator:
    from crx.backends.claude_answers import DEFAULT, ClaudeAnswers

    types: dict[str, Callable[[str], Any]] = {
        "effort": str,
        "max_tokens": int,
        "price": parse_price,
    }
    model, given = typed_options(rest, types)
    return ClaudeAnswers(model or DEFAULT, **given)


def _openai(rest: str) -> Generator:
    from crx.backends.openai_answers import OpenAIAnswers

    address, given = typed_options(rest, {"max_tokens": int, "price": parse_price})
    return OpenAIAnswers(address, **given)


_LOADERS: dict[str, Callable[[str], Generator]] = {
    "claude": _claude,
    "fake": _fake,
    "llama": _llama,
    "openai": _openai,
}


def _plugs() -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {plug.name: plug for plug in entry_points(group=GROUP)}
