"""A contextualizer on the local Messages API.

With CRX_TEST_LIVE=1 and ANTHROPIC_API_KEY, tests with the fixture `service` also run with the real
service, with the model of CRX_TEST_LIVE_MODEL.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("anthropic", exc_type=ImportError)

from messages_server import KEY, MessagesServer, serving
from numbered import RecordedSleep
from remote_contexts import make_claude

from crx_remote.claude.contextualizer import Claude
from crx_remote.retry import RetryPolicy

LIVE = os.environ.get("CRX_TEST_LIVE") == "1" and "ANTHROPIC_API_KEY" in os.environ

Make = Callable[..., Claude]


@pytest.fixture(autouse=True)
def _accept_generic_contexts(accept_generic_contexts: None) -> None:
    """Accept contexts without content; the local service writes them."""


@pytest.fixture
def server() -> MessagesServer:
    return MessagesServer()


@pytest.fixture
def url(server: MessagesServer) -> Iterator[str]:
    with serving(server) as address:
        yield address


@pytest.fixture
def sleep() -> RecordedSleep:
    return RecordedSleep()


@pytest.fixture
def claude(url: str, sleep: RecordedSleep) -> Make:
    """Make a contextualizer that sends to the local server and does not wait."""

    def make(model: str = "claude-sonnet-5", **options: Any) -> Claude:
        given: dict[str, Any] = {"key": KEY, "url": url, "retry_policy": RetryPolicy(sleep=sleep)}
        return make_claude(model, **given | options)

    return make


def service_params() -> list[Any]:
    live = pytest.param(
        "live", marks=pytest.mark.skipif(not LIVE, reason="CRX_TEST_LIVE is not set")
    )
    return ["local", live]


@pytest.fixture(params=service_params())
def service(request: pytest.FixtureRequest, claude: Make) -> Make:
    """The local server, and the real service if CRX_TEST_LIVE is set."""
    if request.param == "local":
        return claude
    model = os.environ.get("CRX_TEST_LIVE_MODEL", "claude-haiku-5-5")

    def make(**options: Any) -> Claude:
        return make_claude(**{"model": model} | options)

    return make
