"""The line that announces a transfer of texts to another machine."""

from __future__ import annotations

from collections.abc import Mapping

from crx.labels import format_size
from crx.protocols import Remote


def sending_notice(plugin: object, what: Mapping[str, int], *, n_bytes: int) -> str:
    """Return the line that announces a transfer, "" if nothing leaves this machine.

    `what` counts what is sent by its name in the singular; `n_bytes` is the size of its text in
    UTF-8.
    """
    if not any(what.values()) or not isinstance(plugin, Remote) or plugin.destination.is_local:
        return ""
    counts = ", ".join(f"{n:,} {_inflect(name, n)}" for name, n in what.items() if n)
    return f"sending {counts} ({format_size(n_bytes)} of text) to {plugin.destination.host}"


def _inflect(name: str, count: int) -> str:
    if count == 1:
        return name
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def text_bytes(text: str) -> int:
    """Return the size of a text in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))
