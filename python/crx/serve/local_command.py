"""`POST /local/command`: a command line that is answered over a Unix socket alone."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crx.errors import Incompatible
from crx.serve.app import Extension, decode_body
from crx.serve.command_client import COMMAND_PATH
from crx.serve.failures import EXPECTED, exception_response
from crx.serve.socket_places import installation
from crx.serve.threads import RequestThreads

# As it was when the server started: an upgrade changes the command's.
_INSTALLATION = installation()


class LocalCommand(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `crx search`, and all of its process that its answer depends on.

    `terminal` is the size of standard output in columns and lines, None if it is no terminal.
    """

    installation: str
    folder: str
    arguments: tuple[str, ...]
    environ: dict[str, str]
    terminal: tuple[int, int] | None


class LocalAnswer(Struct, frozen=True, kw_only=True):
    """What the command prints, and its exit code."""

    out: str
    err: str
    code: int


def command_extension(answer: Callable[[LocalCommand], LocalAnswer]) -> Extension:
    """Return the route that has `answer` answer command lines; it may be called by any thread.

    A command of another installation is refused, and then runs by itself.
    """
    threads = RequestThreads()
    decoder = msgspec.json.Decoder(LocalCommand)

    async def endpoint(request: Request) -> Response:
        try:
            given = decode_body(decoder, await request.body())
            if given.installation != _INSTALLATION:
                raise Incompatible("the command has another version than the server")
            answered = await threads.run(answer, given)
        except EXPECTED as error:
            return exception_response(error)
        return Response(msgspec.json.encode(answered), media_type="application/json")

    @contextlib.asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        try:
            yield
        finally:
            threads.close()

    route = Route(COMMAND_PATH, endpoint, methods=["POST"])
    return Extension(routes=(route,), lifespan=lifespan)
