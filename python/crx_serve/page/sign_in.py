"""Sign-in of browsers to a server with a token: a form, and a cookie that stands for the token.

The guard has let a request through before it comes here, so the form was sent by this page: a POST
of another site is refused by its Origin.
"""

from __future__ import annotations

from http.cookies import SimpleCookie
from urllib.parse import parse_qs

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from crx_serve.access import SESSION_COOKIE, SIGN_IN, SIGN_OUT, AccessPolicy
from crx_serve.app import Extension
from crx_serve.page.layout import html_response, render_page
from crx_serve.page.templates import render


def sign_in_extension(policy: AccessPolicy) -> Extension:
    """Return the routes of the sign-in of a policy with a token."""
    page = _SignIn(policy)
    routes = (
        Route(SIGN_IN, page.form, methods=["GET"]),
        Route(SIGN_IN, page.sign_in, methods=["POST"]),
        Route(SIGN_OUT, page.sign_out, methods=["POST"]),
    )
    return Extension(routes=routes)


class _SignIn:
    def __init__(self, policy: AccessPolicy) -> None:
        self._policy = policy

    async def form(self, request: Request) -> Response:
        """Show the form, or that the browser is signed in."""
        if self._policy.has_session(request.headers):
            return html_response(_render_signed_in())
        return html_response(_render_form(_local_path(request.query_params.get("next", ""))))

    async def sign_in(self, request: Request) -> Response:
        """Give a browser the cookie, if it sends the token."""
        given = parse_qs((await request.body()).decode("utf-8", "replace"))
        path = _local_path(given.get("next", [""])[0])
        if not self._policy.is_token(given.get("token", [""])[0].strip()):
            return html_response(_render_form(path, "That is not the token."), status=401)
        response = RedirectResponse(path, 303)
        # A browser that came through a proxy with TLS must not send it without.
        is_secure = request.headers.get("origin", "").startswith("https:")
        response.headers["set-cookie"] = _cookie(self._policy.session, is_secure=is_secure)
        return response

    async def sign_out(self, request: Request) -> Response:
        """Take the cookie away."""
        response = RedirectResponse(SIGN_IN, 303)
        response.headers["set-cookie"] = f"{_cookie('', is_secure=False)}; Max-Age=0"
        return response


def _cookie(value: str, *, is_secure: bool) -> str:
    """Return a cookie that ends with the browser, and that no script and no other site can use."""
    cookie: SimpleCookie = SimpleCookie()
    cookie[SESSION_COOKIE] = value
    attributes = {"path": "/", "samesite": "Strict", "httponly": True, "secure": is_secure}
    for attribute, wanted in attributes.items():
        cookie[SESSION_COOKIE][attribute] = wanted
    return cookie[SESSION_COOKIE].OutputString()


def _local_path(path: str) -> str:
    """Return a path of this server, "/" for what a browser may take for another one."""
    is_local = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_local and path.isascii() else "/"


def _render_form(path: str, problem: str = "") -> Markup:
    values = {"action": SIGN_IN, "path": path, "problem": problem}
    return render_page("Sign in - crx", render("sign_in.html", values), kind="sign-in")


def _render_signed_in() -> Markup:
    main = render("signed_in.html", {"action": SIGN_OUT})
    return render_page("Sign in - crx", main, kind="sign-in")
