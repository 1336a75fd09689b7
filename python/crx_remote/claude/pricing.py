"""Estimated tokens and dollars of contexts from Claude, from the lengths of the texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from crx._backends.options import typed_options
from crx._services.prompt import Prompt
from crx._services.service_usage import Estimate, ServiceUsage
from crx.types import Chunk, Document
from crx_contexts.chunk_groups import read_form
from crx_remote.claude.requests import request_settings
from crx_remote.metering import Price, parse_price
from crx_remote.remote_requests import estimate_groups


def parse_options(rest: str) -> tuple[str, dict[str, Any]]:
    """Parse what follows `claude:`; return the model and the keyword arguments of `Claude`."""
    counts = dict.fromkeys(("batch", "width", "window", "max_tokens"), int)
    model, given = typed_options(
        rest, {**counts, "effort": str, "price": parse_price, "prompt": str}
    )
    form, limit = given.pop("prompt", "document"), given.pop("window", 0)
    return model, given | {"batch": bool(given.get("batch")), "form": form, "token_limit": limit}


# 737 contexts written for source files have about 290 characters on average. The tokens of
# thinking at low effort are a guess.
_USUAL_TOKENS, _USUAL_TOKENS_THINKING = 90, 400


class ClaudePricing:
    """A cost estimator for one model that needs no key and sends nothing."""

    def __init__(
        self,
        model: str,
        *,
        prompt: Prompt | None = None,
        price: Price | None = None,
        token_limit: int = 0,
        form: str = "document",
    ) -> None:
        self._model = model
        self._prompt = prompt
        self._price = price
        self._token_limit = token_limit
        self._group_prompt = read_form(form, prompt or Prompt.of(), source=f"claude:{model}")

    def estimate_cost(self, documents: Iterable[tuple[Document, Sequence[Chunk]]]) -> Estimate:
        """Estimate tokens and dollars from the lengths of the texts."""
        single = request_settings(
            self._model,
            prompt=self._prompt,
            price=self._price,
            token_limit=self._token_limit,
        )
        batched = replace(single, hour=True, discount=0.5)
        silent = single.facts.thinking == "off"
        if self._group_prompt:
            return estimate_groups(
                self._group_prompt,
                documents,
                tokens_per_byte=single.facts.tokens_per_byte,
                priced=single.priced,
                thinking_tokens=0 if silent else _USUAL_TOKENS_THINKING - _USUAL_TOKENS,
            )
        output_tokens = _USUAL_TOKENS if silent else _USUAL_TOKENS_THINKING
        total, dollars_batch, dollars_uncached, count = ServiceUsage(), 0.0, 0.0, 0
        for document, chunks in documents:
            count += 1
            for _, part in single.parts(document, chunks):
                for used in single.estimate_usage(part, output_tokens=output_tokens):
                    uncached = replace(used, input=used.prompt, written=0, read=0)
                    total += single.priced(used)
                    dollars_batch += batched.dollars(used) or 0.0
                    dollars_uncached += single.dollars(uncached) or 0.0
        priced = single.price is not None
        return Estimate(
            documents=count,
            chunks=total.requests,
            usage=total,
            dollars=total.dollars if priced else None,
            dollars_batch=dollars_batch if priced else None,
            dollars_uncached=dollars_uncached if priced else None,
        )


def load_pricing(rest: str, *, prompt: Prompt | None) -> ClaudePricing:
    """Return the pricing of `claude:REST`."""
    model, options = parse_options(rest)
    return ClaudePricing(
        model,
        prompt=prompt,
        price=options.get("price"),
        token_limit=options["token_limit"],
        form=options["form"],
    )
