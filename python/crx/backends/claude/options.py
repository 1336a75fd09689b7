"""Options of `claude:MODEL` as a contextualizer."""

from __future__ import annotations

from typing import Any

from crx.backends.options import typed_options
from crx.remote.metering import parse_price


def parse_options(rest: str) -> tuple[str, dict[str, Any]]:
    """Parse what follows `claude:`; return the model and the keyword arguments of `Claude`."""
    counts = dict.fromkeys(("batch", "width", "window", "max_tokens"), int)
    model, given = typed_options(
        rest, {**counts, "effort": str, "price": parse_price, "prompt": str}
    )
    form, limit = given.pop("prompt", "document"), given.pop("window", 0)
    return model, given | {"batch": bool(given.get("batch")), "form": form, "token_limit": limit}
