"""`GET /v1/documents/{id}/page`: a page of a PDF as a picture, with a span of its text marked."""

from __future__ import annotations

from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crx_serve.failures import EXPECTED, exception_response
from crx_serve.requests import PageQuery
from crx_serve.service import SearchService
from crx_serve.threads import RequestThreads

PATH = "/v1/documents/{id}/page"


def page_route(service: SearchService, threads: RequestThreads) -> Route:
    """Return the route that draws pages."""

    async def draw(request: Request) -> Response:
        try:
            given = {**request.query_params, **request.path_params}
            query = msgspec.convert(given, PageQuery, strict=False)
            picture = await threads.run(service.page_picture, query)
        except EXPECTED as error:
            return exception_response(error)
        headers = {
            "cache-control": "private, max-age=300",
            "x-crx-page": quote(picture.label),
            "x-crx-page-number": str(picture.number),
            "x-crx-pages": str(picture.pages),
        }
        return Response(picture.png, media_type="image/png", headers=headers)

    return Route(PATH, draw, methods=["GET"])
