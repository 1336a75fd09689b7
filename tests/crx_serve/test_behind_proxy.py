"""A server below a path of a proxy, and pages of other origins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import SETTINGS, TOKEN, serving_app
from starlette.types import ASGIApp

import crx
from crx.errors import UsageError
from crx_serve.access import make_policy
from crx_serve.app import create_app
from crx_serve.behind_proxy import parse_root_path
from crx_serve.commands.serve import open_to
from crx_serve.guard import Guard
from crx_serve.page.routes import page_extension
from crx_serve.page.sign_in import sign_in_extension
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService

ORIGIN = "http://localhost:3000"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[SearchService]:
    (tmp_path / "whales.md").write_text('# Whales\n\nBlue whales eat <a href="/krill">krill</a>.\n')
    with crx.open(tmp_path / "i.crx", settings=SETTINGS) as index:
        index.add(tmp_path / "whales.md")
    made = SearchService([ServedIndex("i", tmp_path / "i.crx", settings=SETTINGS)])
    made.warm()
    yield made
    made.close()


def opened(service: SearchService, *, root: str = "", token: str = "") -> ASGIApp:
    policy = make_policy(host="127.0.0.1", token=token, origins=(ORIGIN,))
    extensions = [page_extension(service), *([sign_in_extension(policy)] if token else [])]
    guard = Guard(
        create_app(service, extensions=extensions), policy=policy, metrics=service.metrics
    )
    return open_to(guard, root_path=root, origins=(ORIGIN,))


def test_links_of_a_server_below_a_path_lead_below_it_and_work(service: SearchService) -> None:
    with serving_app(opened(service, root="/my/search")) as client:
        page = client.get("/my/search/?q=krill").body.decode()
        links = re.findall(r' (?:href|src|action|formaction)="(/[^"]*)"', page)
        assert len(links) > 5
        assert all(link.startswith("/my/search/") for link in links)
        for link in {link.replace("&amp;", "&").partition("#")[0] for link in links}:
            assert client.get(link).status in (200, 303), link
        # A proxy that takes its path off is served, too.
        assert client.get("/assets/page.css").status == 200
        assert client.post("/my/search/v1/search", {"query": "krill"}).status == 200
        assert client.get("/my/searching").status == 404


def test_an_original_is_sent_as_it_is(tmp_path: Path, service: SearchService) -> None:
    original = b'<p>Whales <a href="/krill">eat</a> krill.</p>'
    (tmp_path / "page.html").write_bytes(original)
    service.index("i").add(tmp_path / "page.html")
    with serving_app(opened(service, root="/search")) as client:
        page = client.get("/search/?q=whales").body.decode()
        links = re.findall(r'href="(/search/original/[^"]+)"', page)
        assert original in [client.get(link).body for link in links]
        failed = client.get("/search/original/none").body
        assert b'href="/search/assets/page.css"' in failed


def test_a_sign_in_below_a_path_leads_below_it(service: SearchService) -> None:
    with serving_app(opened(service, root="/search", token=TOKEN)) as client:
        answer = client.get("/search/?q=krill", accept="text/html")
        assert (answer.status, answer.headers["location"]) == (
            303,
            "/search/sign-in?next=%2F%3Fq%3Dkrill",
        )


def test_an_allowed_origin_uses_the_api_and_no_page(service: SearchService) -> None:
    foreign = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-site"}
    with serving_app(opened(service)) as client:
        found = client.post("/v1/search", {"query": "krill"}, **foreign)
        assert (found.status, found.headers["access-control-allow-origin"]) == (200, ORIGIN)
        asks = {"Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "content-type"}  # fmt: skip
        assert client.send("OPTIONS", "/v1/search", headers={**foreign, **asks}).status == 200
        assert client.get("/?q=krill", **foreign).status == 403
        other = {**foreign, "Origin": "http://evil.example"}
        refused = client.post("/v1/search", {"query": "krill"}, **other)
        assert (refused.status, "access-control-allow-origin" in refused.headers) == (403, False)


@pytest.mark.parametrize("text", ["search", "/a b", "/../x//", '/"', "//host"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="want a path such as /search"):
        parse_root_path(text)
    assert parse_root_path("/search/") == "/search"


@pytest.mark.parametrize("origin", ["*", "localhost:3000", "http://a/b", "null"])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(UsageError, match="no origin"):
        make_policy(host="127.0.0.1", token="", origins=(origin,))
