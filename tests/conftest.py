"""An environment of its own for the tests: no settings, key or index of the developer."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty home of crx, and no `CRX_*` variable but the place of models."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("CRX_") and name != "CRX_MODELS":
                patch.delenv(name)
        patch.setenv("CRX_HOME", str(tmp_path_factory.mktemp("home")))
        yield
