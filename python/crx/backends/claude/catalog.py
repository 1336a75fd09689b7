"""What is known of each Claude model: prices, caching, thinking, window.

Read off the vendor's pages on prices, prompt caching and thinking in November 2026. A model that
is not here works too; its dollars are then unknown, and said to be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from crx.remote.metering import Price

# Tokens per UTF-8 byte of English prose and code: about 3.5 characters a token, and 30% more
# tokens with the tokenizer that came with Opus 4.7. Other scripts have three bytes a character
# and about one token, which comes to the same. Only plans and cache marks rest on it.
_OLD, _NEW = 1 / 3.5, 1.3 / 3.5


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A family of models: those of one name, with or without a date.

    A prefix shorter than `least_cached` tokens is not cached. `thinking` "off" can be switched
    off; "always" cannot, and is kept short by a low effort; "unknown" is left alone. `window` is
    what every model takes, prompt and answer; those that take more can be told so.
    """

    price: Price | None = None
    least_cached: int = 512
    thinking: Literal["off", "always", "unknown"] = "unknown"
    tokens_per_byte: float = _NEW
    window: int = 200_000


def _price(input: float, output: float, *, read: float = 0.1) -> Price:
    """Price by the general rule: writes cost 1.25 (an hour: 2) times the input, reads `read`."""
    return Price(
        input=input,
        output=output,
        read=input * read,
        written=input * 1.25,
        written_hour=input * 2,
    )


_HAIKU_5_5 = Price(0.10, 0.50, 0.01, 0.125, 0.20, long_from=100_000, long_factor=5)

# Where a family's least cacheable length was not published when this was written, 512 stands: a
# mark on a shorter prefix does nothing and costs nothing.
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


def known(name: str) -> ModelFacts:
    """Return what is known of a model: that of its family, or an unpriced one."""
    for family, model in _FAMILIES:
        if re.fullmatch(re.escape(family) + r"(-\d{8})?", name):
            return model
    return ModelFacts()
