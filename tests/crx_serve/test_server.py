"""The sockets of the server."""

from __future__ import annotations

import socket

from served import serving_app
from starlette.applications import Starlette

from crx_serve.connections import LimitedProtocol


def test_an_answer_is_not_held_back_until_the_client_acknowledges_its_headers() -> None:
    prompt: list[int] = []

    class Noting(LimitedProtocol):
        def data_received(self, data: bytes) -> None:
            connection = self.transport.get_extra_info("socket")
            prompt.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            super().data_received(data)

    with serving_app(Starlette(), protocol=Noting) as client:
        assert client.get("/").status == 404
    assert prompt
    assert all(prompt)
