"""The host that a plugin sends texts to."""

from __future__ import annotations

from dataclasses import dataclass


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
        import ipaddress  # not imported for a search

        try:
            address = ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return bool((mapped or address).is_loopback)
