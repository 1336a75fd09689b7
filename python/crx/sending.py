"""The line that announces a transfer of texts to another machine."""

from __future__ import annotations

from collections.abc import Mapping

from crx.protocols import Remote


def sending_notice(plugin: object, what: Mapping[str, int], *, n_bytes: int) -> str:
    """Return the line that announces a transfer, "" if nothing leaves this machine.

    `what` counts what is sent by its name in the singular; `n_bytes` is the size of its text in
    UTF-8.
    """
    if not any(what.values()) or not isinstance(plugin, Remote) or plugin.destination.is_local:
        return ""
    counts = ", ".join(f"{n:,} {_inflect(name, n)}" for name, n in what.items() if n)
    return f"sending {counts} ({_size(n_bytes)} of text) to {plugin.destination.host}"


def _inflect(name: str, count: int) -> str:
    if count == 1:
        return name
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def text_bytes(text: str) -> int:
    """Return the size of a text in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def _size(n_bytes: int) -> str:
    size, unit = float(n_bytes), "bytes"
    for larger in ("kB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.1f} {unit}" if unit != "bytes" else f"{n_bytes:,} {unit}"
