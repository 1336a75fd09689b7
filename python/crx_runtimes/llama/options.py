"""Options of `llama:PATH`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from crx.errors import UsageError


@dataclass(frozen=True, slots=True)
class LlamaOptions:
    """Options of a local model; 0 leaves the choice to crx.

    `prompt`: "document", one prompt a chunk behind the whole document, or "window", one prompt for
    about six chunks behind a digest of the document (`crx_contexts.chunk_groups`).
    `slots`: prompts decoded together (the option `places`), by default 16, or 8 of groups.
    `token_limit`: tokens of a prompt (the option `window`), at most those that the model was
    trained for; by default contexts are written from at most 8,192 without a GPU. `kv`: "f16",
    "f32", or "q8_0" (half the memory, but prompts take four to five times as long without a GPU,
    for want of an attention kernel for tiles of rows).
    `gpu_layers`: -1 for all, if llama.cpp was built with a GPU. `kv_bytes`: memory for keys and
    values, by default 60% of the free memory; if it is short, fewer chunks are decoded together.
    `memory_bytes`: a limit on all memory of the child process. `timeout_s`: the longest silence of
    the child, which sends a message at least every 512 tokens.
    """

    prompt: str = "document"
    slots: int = 0
    token_limit: int = 0
    kv: str = "f16"
    threads: int = 0
    gpu_layers: int = -1
    max_tokens: int = 160
    kv_bytes: int = 0
    memory_bytes: int = 0
    timeout_s: float = 300.0

    def __post_init__(self) -> None:
        if self.prompt not in ("document", "window"):
            raise ValueError(f'prompt is "document" or "window", not "{self.prompt}"')
        if self.kv not in ("f16", "q8_0", "f32"):
            raise ValueError(f'kv is "f16", "q8_0" or "f32", not "{self.kv}"')
        if not 0 <= self.slots <= 62:
            raise ValueError(f"places= is 1 to 62, or 0 for the default, not {self.slots}")
        if self.max_tokens < 1 or self.timeout_s <= 0:
            raise ValueError("max_tokens and timeout_s are above 0")
        if min(self.token_limit, self.threads, self.kv_bytes, self.memory_bytes) < 0:
            raise ValueError("window, threads, kv_bytes and memory_bytes are not below 0")


# The name of an option in a specification, where it is not that of its field.
_NAMES = {"slots": "places", "token_limit": "window"}
OPTION_TYPES: dict[str, type] = {
    _NAMES.get(field.name, field.name): type(field.default) for field in fields(LlamaOptions)
}


def make_options(values: Mapping[str, Any]) -> LlamaOptions:
    """Return the options of a specification; raise `UsageError` for a value out of range."""
    try:
        return LlamaOptions(
            **{
                field.name: values[_NAMES.get(field.name, field.name)]
                for field in fields(LlamaOptions)
                if _NAMES.get(field.name, field.name) in values
            }
        )
    except ValueError as error:
        raise UsageError(f"llama: {error}") from None
