"""Marks for tests that need a package which the default environment does not have."""

from __future__ import annotations

import importlib.util

import pytest


def installed(package: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test unless the package is installed."""
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed")
