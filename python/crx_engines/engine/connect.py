"""Engines by the scheme of an address, each of an installed package."""

from __future__ import annotations

from crx import plugins
from crx.errors import UsageError
from crx.plugins import ENGINES, without_password
from crx_engines.engine.protocol import Engine


def connect(address: str) -> Engine:
    """Return the engine of an address such as `postgresql://...`.

    Raises `UsageError` for an address that no installed package opens, with what to install.
    """
    scheme, shown = plugins.scheme_of(address), without_password(address)
    engine = plugins.load_for_scheme(ENGINES, scheme, shown=shown)(address)
    if not isinstance(engine, Engine):
        found = type(engine).__name__
        raise UsageError(f'{shown}: the plugin "{scheme}" returned {found}, which is not an Engine')
    return engine
