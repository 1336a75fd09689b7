"""A page of another site in a real Chromium: whatever it asks for, nothing is searched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from browser import Browser
from served import Client, serving_app
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from crx_serve.service import SearchService

# What a page does with the URL of a search at a server that is not its own.
ATTACKS = {
    "frame": "put('iframe', {src: url})",
    "sandboxed frame": "put('iframe', {src: url, sandbox: ''})",
    "frame without an origin": "put('iframe', {srcdoc: `<iframe src=\"${url}\"></iframe>`})",
    "frame that is led there": "put('iframe', {src: '/redirect'})",
    "frame of a page that leaves": "put('iframe', {src: '/leave'})",
    "object": "put('object', {data: url, type: 'text/html'})",
    "embed": "put('embed', {src: url, type: 'text/html'})",
    "image": "put('img', {src: url})",
    "image that is led there": "put('img', {src: '/redirect'})",
    "script": "put('script', {src: url})",
    "module": "put('script', {src: url, type: 'module'})",
    "style sheet": "put('link', {rel: 'stylesheet', href: url})",
    "video": "put('video', {src: url, preload: 'auto'})",
    "prefetch": "put('link', {rel: 'prefetch', href: url})",
    "preload": "put('link', {rel: 'preload', as: 'fetch', href: url})",
    "prerender": "put('script', {type: 'speculationrules', textContent: JSON.stringify("
    "{prerender: [{source: 'list', urls: [url]}], prefetch: [{source: 'list', urls: [url]}]})})",
    "fetch": "fetch(url).catch(() => 0)",
    "fetch without CORS": "fetch(url, {mode: 'no-cors', credentials: 'include'}).catch(() => 0)",
    "fetch of JSON": "fetch(api, {method: 'POST', body, headers: {'content-type': "
    "'application/json'}}).catch(() => 0)",
    "fetch of text": "fetch(api, {method: 'POST', body, mode: 'no-cors'}).catch(() => 0)",
    "beacon": "navigator.sendBeacon(api, body)",
    "events": "new EventSource(url)",
    "worker": "new Worker(URL.createObjectURL(new Blob([`fetch('${url}', {mode: 'no-cors'})`])))",
    "service worker": "navigator.serviceWorker.register('/worker.js').then(() => "
    "navigator.serviceWorker.ready).then(() => put('iframe', {src: '/through-the-worker'}))",
    "form of GET": "form('get')",
    "form of POST": "form('post')",
    "form into a frame": "(put('iframe', {name: 'inner'}), form('get', 'inner'))",
    "popup": "window.open(url)",
    "popup without an opener": "window.open(url, '_blank', 'noopener')",
    "popup that is led there": "window.open('/redirect')",
    "click": "put('a', {href: url}).click()",
    "move of the window": "location.assign(url)",
    "redirect of the window": "location.assign('/redirect')",
    "refresh of the window": "location.assign('/refresh')",
}
SCRIPT = """
const url = %(url)s, api = %(api)s, body = '{"query": "krill"}';
function put(name, fields) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(fields))
    key in made && !['type', 'as'].includes(key)
      ? (made[key] = value) : made.setAttribute(key, value);
  return document.body.appendChild(made);
}
function form(method, target = '') {
  const made = put('form', {action: url, method, target, enctype: 'text/plain'});
  const field = document.createElement('input');
  Object.assign(field, {name: 'q', value: 'krill'});
  made.append(field);
  made.submit();
}
"""
WORKER = """
const url = %s;
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => {
  if (event.request.url.endsWith('/through-the-worker'))
    event.respondWith(fetch(url, {mode: 'no-cors'}).catch(() => Response.redirect(url)));
});
"""


class Attacker:
    """A site whose pages use the URL of a search of another server."""

    def __init__(self, url: str) -> None:
        self._url = url
        paths = {
            "/": self._page,
            "/redirect": lambda _: RedirectResponse(url),
            "/refresh": lambda _: self._html(f'<meta http-equiv="refresh" content="0;url={url}">'),
            "/leave": lambda _: self._html(f"<script>location = {json.dumps(url)}</script>"),
            "/worker.js": lambda _: Response(
                WORKER % json.dumps(url), media_type="text/javascript"
            ),
        }
        self.app = Starlette(routes=[Route(path, answer) for path, answer in paths.items()])

    def _page(self, request: Request) -> Response:
        api = self._url.partition("/?")[0] + "/v1/search"
        script = SCRIPT % {"url": json.dumps(self._url), "api": json.dumps(api)}
        return self._html(f"<title>attack</title><body><script>{script}</script>")

    def _html(self, markup: str) -> Response:
        return Response(f"<!doctype html>{markup}", media_type="text/html")


@pytest.fixture
def searched(library_service: SearchService, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that the service is asked for."""
    asked: list[str] = []
    find = library_service._find

    def note(request: Any) -> Any:
        asked.append(request.query)
        return find(request)

    monkeypatch.setattr(library_service, "_find", note)
    return asked


@pytest.fixture(params=["localhost", "127.0.0.1"])
def attack(request: pytest.FixtureRequest, page: Client) -> Iterator[str]:
    """The URL of an attacker: of another site (localhost), or of another port of the same one."""
    with ExitStack() as stack:
        attacker = Attacker(f"{page.url}/?q=krill")
        client = stack.enter_context(serving_app(attacker.app))
        yield f"http://{request.param}:{client.port}/"


def test_nothing_that_a_page_of_another_site_does_runs_a_search(
    attack: str, browser: Browser, page: Client, searched: list[str]
) -> None:
    own = browser.driver.current_window_handle
    for name, script in ATTACKS.items():
        browser.driver.get(attack)
        browser.driver.execute_script(f"return Promise.resolve({script}).then(() => 0)")
        _let_it_run(browser, own)
        assert searched == [], name


def _let_it_run(browser: Browser, own: str) -> None:
    """Wait until what a page has begun is answered, and close the windows that it has opened."""
    for handle in browser.driver.window_handles:
        browser.driver.switch_to.window(handle)
        browser.wait("document.readyState == 'complete'")
        # What must not come has no end to wait for.
        browser.driver.execute_async_script("setTimeout(arguments[0], 150)")
        if handle != own:
            browser.driver.close()
    browser.driver.switch_to.window(own)


def test_a_search_that_another_site_asked_for_runs_after_a_click(
    attack: str, browser: Browser, page: Client, searched: list[str]
) -> None:
    browser.driver.get(attack)
    browser.driver.execute_script(ATTACKS["move of the window"])
    browser.wait("document.querySelector('#results .note')?.innerText.includes('Another site')")
    assert searched == []
    browser.click("#search button[type=submit]")
    browser.wait("document.querySelector('.passage mark') != null")
    assert searched


def test_a_name_of_an_attacker_that_leads_to_this_machine_runs_no_search(
    browser: Browser, page: Client, searched: list[str]
) -> None:
    # Chromium resolves every name below localhost as 127.0.0.1: a name that was rebound.
    browser.driver.get(f"http://rebound.localhost:{page.port}/?q=krill")
    assert "not a name of this server" in browser.text("body")
    asked = browser.driver.execute_async_script(
        "const done = arguments[0]; fetch('/v1/search', {method: 'POST', body: '{\"query\": "
        "\"krill\"}', headers: {'content-type': 'application/json'}})"
        ".then(answer => done(answer.status), () => done(0))"
    )
    assert (asked, searched) == (400, [])
