"""Who may use the server: names, origins and tokens."""

from __future__ import annotations

import base64
import hmac

import pytest
from starlette.datastructures import Headers

from crx.errors import UsageError
from crx_serve.access import AccessPolicy, make_policy

TOKEN = "0123456789abcdef0123456789abcdef"
OWN = {"host": "127.0.0.1:8000", "content-type": "application/json"}


def status(policy: AccessPolicy, method: str = "GET", path: str = "/v1/status", **sent: str) -> int:
    """Return the status of a refusal, 0 if there is none."""
    headers = Headers({**OWN, **{name.replace("_", "-"): value for name, value in sent.items()}})
    refusal = policy.refuse(method, path, headers)
    return refusal.status if refusal else 0


LOOPBACK = make_policy(host="127.0.0.1", token="")
OPEN = make_policy(host="0.0.0.0", token=TOKEN, allowed_hosts=("search.example.org",))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST:1"])
def test_a_loopback_server_answers_to_the_names_of_this_machine(host: str) -> None:
    assert status(LOOPBACK, host=host) == 0


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example:8000", "192.168.1.2", "", "[::1", "a@localhost:"],
)
def test_a_name_that_leads_here_and_is_not_ours_is_refused(host: str) -> None:
    assert status(LOOPBACK, host=host) == 400


def test_a_request_whose_name_a_proxy_took_away_is_told_so() -> None:
    refusal = LOOPBACK.refuse("GET", "/", Headers({}))
    assert refusal
    assert (refusal.status, refusal.message) == (
        400,
        "the request has no Host header; have the proxy keep it",
    )


def test_a_name_that_is_allowed_is_answered() -> None:
    assert status(OPEN, host="search.example.org", authorization=f"Bearer {TOKEN}") == 0
    assert status(OPEN, host="192.168.1.2:8000", authorization=f"Bearer {TOKEN}") == 0
    assert status(OPEN, host="evil.example", authorization=f"Bearer {TOKEN}") == 400


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:3000", "http://127.0.0.1:8000.a"]
)
def test_a_page_of_another_origin_is_refused(method: str, origin: str) -> None:
    assert status(LOOPBACK, method, origin=origin) == 403


def test_a_page_of_the_server_itself_is_answered() -> None:
    assert status(LOOPBACK, "POST", origin="http://127.0.0.1:8000") == 0
    assert status(LOOPBACK, "POST", sec_fetch_site="same-origin") == 0


def test_a_form_of_another_site_is_refused_also_without_an_origin() -> None:
    assert status(LOOPBACK, "POST", sec_fetch_site="cross-site") == 403
    assert status(LOOPBACK, "POST", content_type="text/plain") == 415
    assert status(LOOPBACK, "POST", content_type="application/x-www-form-urlencoded") == 415


FOLLOWED = {
    "sec_fetch_site": "cross-site",
    "sec_fetch_mode": "navigate",
    "sec_fetch_dest": "document",
}


@pytest.mark.parametrize("path", ["/", "/documents/notes-1-ab", "/status", "/docs"])
def test_a_link_of_another_site_leads_to_a_page(path: str) -> None:
    assert status(LOOPBACK, path=path, **FOLLOWED) == 0
    assert status(LOOPBACK, path=path, **{**FOLLOWED, "sec_fetch_site": "same-site"}) == 0


@pytest.mark.parametrize(
    "change",
    [
        {"sec_fetch_mode": "no-cors", "sec_fetch_dest": "image"},
        {"sec_fetch_mode": "no-cors", "sec_fetch_dest": "script"},
        {"sec_fetch_mode": "cors", "sec_fetch_dest": "empty"},
        {"sec_fetch_mode": "no-cors", "sec_fetch_dest": "serviceworker"},
        {"sec_fetch_dest": "empty"},
        {"sec_fetch_dest": ""},
    ],
)
def test_what_else_a_page_of_another_site_asks_for_is_refused(change: dict[str, str]) -> None:
    assert status(LOOPBACK, path="/", **{**FOLLOWED, **change}) == 403


@pytest.mark.parametrize("purpose", ["prefetch", "prefetch;prerender"])
def test_a_page_is_not_fetched_in_advance(purpose: str) -> None:
    # What Chromium sends for the speculation rules of any page.
    asked = {**FOLLOWED, "sec_fetch_site": "none", "sec_purpose": purpose}
    assert status(LOOPBACK, path="/", **asked) == 403


@pytest.mark.parametrize("dest", ["iframe", "frame", "fencedframe", "object", "embed"])
@pytest.mark.parametrize("site", ["cross-site", "same-site", "same-origin", "none"])
def test_no_page_is_framed(dest: str, site: str) -> None:
    asked = {**FOLLOWED, "sec_fetch_dest": dest, "sec_fetch_site": site}
    assert status(LOOPBACK, path="/", **asked) == 403


@pytest.mark.parametrize(
    "path", ["/ask", "/results", "/preview/notes-1-ab", "/original/notes-1-ab", "/v1/status"]
)
def test_a_link_of_another_site_leads_to_nothing_but_a_page(path: str) -> None:
    assert status(LOOPBACK, path=path, **FOLLOWED) == 403
    assert status(LOOPBACK, "POST", path="/", **FOLLOWED) == 403


@pytest.mark.parametrize(
    "given",
    ["", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer é", "Bearer \ud800"],
)
def test_without_the_token_a_request_is_refused(given: str) -> None:
    policy = make_policy(host="127.0.0.1", token=TOKEN)
    headers = Headers(
        raw=[(b"host", b"localhost"), (b"authorization", given.encode("utf-8", "replace"))]
    )
    refusal = policy.refuse("GET", "/v1/status", headers)
    assert refusal is not None
    assert (refusal.status, refusal.headers) == (401, {"www-authenticate": "Bearer"})


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anybody:{password}".encode()).decode()


def test_the_token_is_accepted_as_bearer_and_as_the_password_of_a_browser() -> None:
    policy = make_policy(host="127.0.0.1", token=TOKEN)
    assert status(policy, authorization=f"Bearer {TOKEN}") == 0
    assert status(policy, authorization=f"bearer {TOKEN}") == 0
    assert status(policy, authorization=basic(TOKEN)) == 0
    assert status(policy, authorization=basic("wrong")) == 401
    assert status(policy, authorization="Basic !") == 401


def test_a_browser_is_led_to_the_form_and_a_program_is_not() -> None:
    policy = make_policy(host="127.0.0.1", token=TOKEN)
    headers = Headers({**OWN, "accept": "text/html,*/*"})
    refusal = policy.refuse("GET", "/documents/x", headers)
    assert refusal is not None
    assert refusal.status == 303
    assert refusal.headers == {"location": "/sign-in?next=%2Fdocuments%2Fx"}
    assert status(policy, "POST", accept="text/html,*/*") == 401
    assert status(policy, accept="*/*") == 401


def test_the_cookie_of_a_session_stands_for_the_token() -> None:
    policy = make_policy(host="127.0.0.1", token=TOKEN)
    assert status(policy, cookie=f"crx-session={policy.session}") == 0
    assert status(policy, cookie=f"crx-session={OPEN.session}x") == 401
    assert status(policy, cookie="crx-session=") == 401
    # A wrong token is refused, whatever cookie comes with it.
    given = {"cookie": f"crx-session={policy.session}", "authorization": "Bearer wrong"}
    assert status(policy, **given) == 401
    other = make_policy(host="127.0.0.1", token=TOKEN[::-1])
    assert status(other, cookie=f"crx-session={policy.session}") == 401


def test_tokens_and_cookies_are_compared_in_constant_time_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policy = make_policy(host="127.0.0.1", token=TOKEN)
    right = (f"Bearer {TOKEN}", basic(TOKEN), f"crx-session={policy.session}")
    wrong = (f"Bearer {TOKEN}x", basic("wrong"), "crx-session=wrong")
    for given, verdict in ((right, False), (wrong, True)):
        # Whatever the function says is what counts, so nothing else compares.
        monkeypatch.setattr(hmac, "compare_digest", lambda *_, verdict=verdict: verdict)
        bearer, password, cookie = given
        expected = 0 if verdict else 401
        assert status(policy, authorization=bearer) == expected
        assert status(policy, authorization=password) == expected
        assert status(policy, cookie=cookie) == expected
        assert policy.is_token(TOKEN) is verdict


def test_health_needs_no_token() -> None:
    assert status(make_policy(host="127.0.0.1", token=TOKEN), path="/health") == 0


@pytest.mark.parametrize(
    ("host", "token", "fact"),
    [
        ("0.0.0.0", "", "without a token"),
        ("192.168.1.2", "", "without a token"),
        ("::", "", "without a token"),
        ("example.org", "", "without a token"),
        ("127.0.0.1", "short", "the token has 5 characters; use at least 20"),
        ("127.0.0.1", "a token with spaces in it", "no header can hold"),
        ("127.0.0.1", "ein-schlüssel-mit-umlaut", "no header can hold"),
    ],
)
def test_a_policy_that_protects_nothing_is_refused(host: str, token: str, fact: str) -> None:
    with pytest.raises(UsageError, match=fact):
        make_policy(host=host, token=token)
