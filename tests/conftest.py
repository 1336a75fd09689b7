"""An environment of its own for the tests: no settings, key or index of the developer."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A busy machine is no failure.
settings.register_profile("no deadline", settings(deadline=None))
settings.load_profile("no deadline")


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty home of crx, no `CRX_*` variable but the place of models, and a usual terminal.

    Searches are not reranked unless a test asks for it: the model would be run in hundreds of
    searches that test something else.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("CRX_") and name != "CRX_MODELS":
                patch.delenv(name)
        patch.setenv("CRX_RERANKER", "")
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("CRX_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """Let Ctrl-C end the processes that tests start.

    A shell has its background jobs ignore SIGINT, which their processes inherit.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def accept_generic_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept contexts without content, and one for many chunks, as the test models write them."""
    monkeypatch.setattr("crx_contexts.validate.MIN_SPECIFIC", 0)
    monkeypatch.setattr("crx_contexts.validate.MIN_SPECIFIC_SHARE", 0.0)
    monkeypatch.setattr("crx_contexts.validate.MIN_FROM_CHUNK", 0)
    monkeypatch.setattr("crx_contexts.validate.MAX_SHARED", 10**6)
