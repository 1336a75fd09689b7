"""A form that adds a folder to an index; the server's token is asked for each time.

The guard has let a request through before it comes here: a POST of another site is refused.
"""

from __future__ import annotations

from urllib.parse import parse_qs

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from crx_serve.access import ADD_FOLDER, AccessPolicy
from crx_serve.added_folders import FolderAdder
from crx_serve.app import Extension
from crx_serve.failures import EXPECTED, status_of
from crx_serve.page.layout import html_response, render_page
from crx_serve.page.state import render_state
from crx_serve.page.templates import render
from crx_serve.requests import StatusQuery
from crx_serve.threads import RequestThreads


def add_folder_extension(adder: FolderAdder, *, policy: AccessPolicy) -> Extension:
    """Return the routes of the form of a server that allows it; its policy must have a token."""
    page = _AddFolder(adder, policy)
    routes = (
        Route(ADD_FOLDER, page.form, methods=["GET"]),
        Route(ADD_FOLDER, page.add, methods=["POST"]),
    )
    return Extension(routes=routes)


class _AddFolder:
    def __init__(self, adder: FolderAdder, policy: AccessPolicy) -> None:
        self._adder = adder
        self._policy = policy
        self._threads = RequestThreads(count=1)

    async def form(self, request: Request) -> Response:
        """Show the form, and how far the last folder is."""
        return html_response(await self._threads.run(self._render))

    async def add(self, request: Request) -> Response:
        """Begin to add a folder, if the token is right."""
        given = parse_qs((await request.body()).decode("utf-8", "replace"))
        folder, index, token = (given.get(name, [""])[0] for name in ("folder", "index", "token"))
        if not (self._policy.token and self._policy.is_token(token.strip())):
            page = await self._threads.run(self._render, folder, "That is not the token.")
            return html_response(page, status=401)
        try:
            await self._threads.run(lambda: self._adder.add(folder.strip(), index=index))
        except EXPECTED as error:
            page = await self._threads.run(self._render, folder, str(error))
            return html_response(page, status=status_of(error))
        return RedirectResponse(ADD_FOLDER, 303)

    def _render(self, folder: str = "", problem: str = "") -> Markup:
        last = self._adder.last
        values = {
            "action": ADD_FOLDER,
            "allowed": self._adder.allowed,
            "indexes": self._adder.service.names,
            "folder": folder,
            "problem": problem,
            "last": last,
        }
        status = self._adder.service.status(StatusQuery())
        state = render_state(status, added=last)
        main = render("add_folder.html", values)
        return render_page("Add a folder - crx", main, state=state, kind="add-folder")
