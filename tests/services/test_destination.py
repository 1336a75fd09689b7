"""Destinations of texts, and the notice that announces a transfer."""

from __future__ import annotations

import pytest

from crx._services.destination import Destination
from crx.sending import sending_notice


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "crx.localhost", "127.0.0.1", "127.8.9.1", "::1", "[::1]"]
)
def test_loopback_hosts_are_local(host: str) -> None:
    assert Destination(host).is_local


@pytest.mark.parametrize(
    "host",
    ["api.anthropic.com", "localhost.example.org", "192.168.0.2", "0.0.0.0", "::ffff:10.0.0.1"],
)
def test_other_hosts_are_not_local(host: str) -> None:
    assert not Destination(host).is_local


class Service:
    def __init__(self, host: str) -> None:
        self.destination = Destination(host)


@pytest.mark.parametrize(
    ("n_bytes", "size"), [(999, "999 bytes"), (1_000, "1.0 kB"), (12_345_678, "12.3 MB")]
)
def test_a_notice_names_the_host_and_the_size(n_bytes: int, size: str) -> None:
    what = {"document": 1, "chunk": 1200}
    notice = sending_notice(Service("api.example.org"), what, n_bytes=n_bytes)
    assert notice == f"sending 1 document, 1,200 chunks ({size} of text) to api.example.org"


def test_a_plugin_that_keeps_texts_here_needs_no_notice() -> None:
    assert sending_notice(Service("127.0.0.1"), {"document": 2}, n_bytes=1) == ""
    assert sending_notice(object(), {"document": 2}, n_bytes=1) == ""
