"""The address of a Ray cluster, and what each worker there takes of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from crx.errors import UsageError

_FORM = "write ray, or ray://HOST:PORT, followed by ?cpus=N&gpus=SHARE if need be"


@dataclass(frozen=True, slots=True)
class RayAddress:
    """A cluster by its host and port, "" for the one of this machine; processors of a worker."""

    host: str = ""
    port: int = 10001
    cpus: float = 1.0
    gpus: float = 0.0

    def __str__(self) -> str:
        return self.cluster or "ray"

    @property
    def cluster(self) -> str | None:
        """The URL by which Ray knows the cluster; None for that of this machine."""
        return f"ray://{self.host}:{self.port}" if self.host else None

    @property
    def threads(self) -> int:
        """The threads of a worker."""
        return max(1, int(self.cpus))


def parse_ray_address(text: str) -> RayAddress:
    """Parse `ray` or `ray://HOST:PORT`, with `?cpus=N&gpus=SHARE`; raises `UsageError`."""
    is_local = text.partition("?")[0] == "ray"
    parts = urlsplit(text.replace("ray", "ray://", 1) if is_local else text)
    try:
        pairs = parse_qsl(parts.query, strict_parsing=bool(parts.query))
        shares = {name: float(value) for name, value in pairs}
        known = parts.scheme == "ray" and not parts.path and not set(shares) - {"cpus", "gpus"}
        has_host = bool(parts.hostname) and parts.username is None
        if not known or not (is_local or has_host):
            raise ValueError
        if any(not (0 <= share < math.inf) for share in shares.values()):
            raise ValueError
        return RayAddress(parts.hostname or "", parts.port or 10001, **shares)
    except ValueError:
        raise UsageError(f"{text}: not the address of a Ray cluster; {_FORM}") from None
