"""The host that a plugin sends texts to, and the notice of it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from crx.protocols import Remote


@dataclass(frozen=True, slots=True)
class Destination:
    """The host of a service, as a name or an IP address."""

    host: str

    @property
    def is_local(self) -> bool:
        """Whether texts stay on this machine: a loopback address or a name of it (RFC 6761).

        Names are not resolved.
        """
        name = self.host.rstrip(".").lower()
        if name == "localhost" or name.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return bool((mapped or address).is_loopback)


def sending_notice(plugin: object, *, what: str, n_bytes: int) -> str:
    """Return the line that announces a transfer, "" if the texts stay on this machine.

    `what` counts what is sent, such as "3 documents, 40 chunks"; `n_bytes` is the size of its
    text in UTF-8.
    """
    if not isinstance(plugin, Remote) or plugin.destination.is_local:
        return ""
    return f"sending {what} ({_size(n_bytes)} of text) to {plugin.destination.host}"


def _size(n_bytes: int) -> str:
    size, unit = float(n_bytes), "bytes"
    for larger in ("kB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.1f} {unit}" if unit != "bytes" else f"{n_bytes:,} {unit}"
