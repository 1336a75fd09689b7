"""`POST /local/search`: a search of the command line, answered over a Unix socket alone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crx._index.socket_paths import installation
from crx.config import is_offline, setting_values, user_file
from crx.errors import Incompatible, NotFound
from crx.types import Result
from crx_serve.app import Extension
from crx_serve.failures import EXPECTED, exception_response
from crx_serve.local_query import SEARCH_PATH, LocalQuery, note_parts
from crx_serve.requests import decode_body
from crx_serve.service import SearchService
from crx_serve.threads import RequestThreads

# As it was when the server started: an upgrade changes the command's.
_INSTALLATION = installation()


def local_search_extension(service: SearchService) -> Extension:
    """Return the route that answers searches of the command line."""
    threads = RequestThreads()
    decoder = msgspec.json.Decoder(LocalQuery)
    answer = partial(search_locally, service)

    async def endpoint(request: Request) -> Response:
        try:
            given = decode_body(decoder, await request.body())
            result = await threads.run(answer, given)
        except EXPECTED as error:
            return exception_response(error)
        return Response(
            msgspec.json.encode(result, enc_hook=note_parts), media_type="application/json"
        )

    @contextlib.asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        try:
            yield
        finally:
            threads.close()

    return Extension(routes=(Route(SEARCH_PATH, endpoint, methods=["POST"]),), lifespan=lifespan)


def search_locally(service: SearchService, given: LocalQuery) -> Result:
    """Return what the command would find.

    Raises a `CrxError` or `ValueError` for a search that this server would not do in the same way:
    the command then searches by itself.
    """
    if given.installation != _INSTALLATION:
        raise Incompatible("the command has another version than the server")
    served = next((each for each in service.served if _is_same(each.path, given.index)), None)
    if served is None:
        raise NotFound(f"{given.index}: not served here")
    paths = os.path.expanduser("~"), str(user_file(os.environ))
    is_same = (given.home, given.user_file) == paths and given.offline == is_offline()
    own = setting_values(served.get().configuration)
    if not is_same or {**own, **given.settings} != own:
        raise Incompatible("the command has other settings than the server")
    return service.search_index(served, given.query)


def _is_same(one: os.PathLike[str], other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
