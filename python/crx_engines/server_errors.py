"""Errors that the servers of all databases give, as those of crx; `name` is an address as shown."""

from __future__ import annotations

from crx.errors import NotAnIndex, SystemFailure, UsageError


def no_driver(name: str, driver: str, *, extra: str) -> UsageError:
    """Return the error of a package that is not installed."""
    return UsageError(f'{name}: {driver} is not installed; pip install "crx[{extra}]"')


def no_index(name: str) -> NotAnIndex:
    """Return the error of a database without an index."""
    return NotAnIndex(f'{name}: holds no index; "crx copy INDEX {name}" makes one')


def no_database(name: str, fact: str) -> NotAnIndex:
    """Return the error of a database that does not exist."""
    return NotAnIndex(f"{name}: {fact}; create the database first")


def not_allowed(name: str, fact: str) -> UsageError:
    """Return the error of a role that may not do what is asked."""
    return UsageError(f"{name}: {fact}; ask for a role that may do that")


def no_answer(name: str, timeout_s: float) -> SystemFailure:
    """Return the error of a request that took too long."""
    return SystemFailure(
        f"{name}: no answer within {timeout_s:g} s; check the server and the network, or allow "
        "more with ?timeout=SECONDS"
    )


def no_connection(name: str, fact: str) -> SystemFailure:
    """Return the error of a server that cannot be reached."""
    return SystemFailure(
        f"{name}: no connection ({fact}); check that the server runs and may be reached"
    )
