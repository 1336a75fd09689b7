"""Known facts of the Claude models: prices, caching, thinking, token limit.

From the vendor's pages on prices, prompt caching and thinking in November 2026. A model that is
not listed works too; its cost is then reported as unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from crx_remote.metering import Price

# Tokens per UTF-8 byte of English prose and code: about 3.5 characters a token, and 30% more
# tokens with the tokenizer that came with Opus 4.7. Other scripts have three bytes and about one
# token a character, which is about the same rate. Only estimates and cache marks depend on it.
_OLD, _NEW = 1 / 3.5, 1.3 / 3.5


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The facts of a family of models: those of one name, with or without a date.

    A prefix shorter than `min_cached_tokens` is not cached. `thinking` "off" can be disabled;
    "always" cannot, and is kept short by a low effort; "unknown" is left as it is. `token_limit` is
    the number that every model accepts, prompt and answer together; the option `window` sets a
    larger one.
    """

    price: Price | None = None
    min_cached_tokens: int = 512
    thinking: Literal["off", "always", "unknown"] = "unknown"
    tokens_per_byte: float = _NEW
    token_limit: int = 200_000


def _price(input: float, output: float, *, read: float = 0.1) -> Price:
    """Return the price by the vendor's rule, as multiples of the input price.

    Cache writes cost 1.25 times as much (2 times for an hour), cache reads `read` times as much.
    """
    return Price(
        input=input,
        output=output,
        read=input * read,
        written=input * 1.25,
        written_hour=input * 2,
    )


_HAIKU_5_5 = Price(0.10, 0.50, 0.01, 0.125, 0.20, long_from=100_000, long_factor=5)

# 512 stands for a minimum that was not published: a mark on a shorter prefix costs nothing.
_FAMILIES: tuple[tuple[str, ModelFacts], ...] = (
    ("claude-fable-5-2", ModelFacts(_price(8, 40, read=0.025), thinking="always")),
    ("claude-fable-5-1", ModelFacts(_price(10, 50, read=0.025), thinking="always")),
    ("claude-mythos-5-1", ModelFacts(_price(10, 50, read=0.025), thinking="always")),
    ("claude-fable-5", ModelFacts(_price(10, 50), thinking="always")),
    ("claude-mythos-5", ModelFacts(_price(10, 50), thinking="always")),
    ("claude-opus-5-5", ModelFacts(_price(4, 20, read=0.05), thinking="always")),
    ("claude-opus-5", ModelFacts(_price(5, 25), thinking="off")),
    ("claude-opus-4-8", ModelFacts(_price(5, 25), 1024, "off")),
    ("claude-opus-4-7", ModelFacts(_price(5, 25), 2048, "off")),
    ("claude-opus-4-6", ModelFacts(_price(5, 25), 4096, "off", _OLD)),
    ("claude-opus-4-5", ModelFacts(_price(5, 25), 4096, "off", _OLD)),
    ("claude-sonnet-5-5", ModelFacts(_price(2, 10, read=0.05), thinking="off")),
    ("claude-sonnet-5", ModelFacts(_price(2, 10), 1024, "off")),
    ("claude-sonnet-4-6", ModelFacts(_price(3, 15), 1024, "off", _OLD)),
    ("claude-sonnet-4-5", ModelFacts(_price(3, 15), 1024, "off", _OLD)),
    ("claude-haiku-5-5", ModelFacts(_HAIKU_5_5, thinking="off")),
    ("claude-haiku-4-5", ModelFacts(_price(1, 5), 4096, "off", _OLD)),
)


def model_facts(name: str) -> ModelFacts:
    """Return the facts of a model's family; for an unknown model, facts without a price."""
    for family, model in _FAMILIES:
        if re.fullmatch(re.escape(family) + r"(-\d{8})?", name):
            return model
    return ModelFacts()
