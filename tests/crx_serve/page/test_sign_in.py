"""Sign-in of browsers to a server with a token."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from served import TOKEN, Answered, Client, serving_app

from crx_serve.access import make_policy
from crx_serve.app import create_app
from crx_serve.guard import Guard
from crx_serve.page.sign_in import sign_in_extension
from crx_serve.service import SearchService

FORM = "application/x-www-form-urlencoded"
BROWSER = "text/html,application/xhtml+xml,*/*"


def send_form(client: Client, path: str, *, headers: dict[str, str], **fields: str) -> Answered:
    return client.send(
        "POST", path, body=urlencode(fields).encode(), headers={"Content-Type": FORM, **headers}
    )


def sign_in(client: Client, token: str, *, next: str = "/", **headers: str) -> Answered:
    own = {"Origin": client.url, "Sec_Fetch_Site": "same-origin"}
    return send_form(client, "/sign-in", headers={**own, **headers}, token=token, next=next)


def cookie_of(answered: Answered) -> str:
    return answered.headers["set-cookie"].partition(";")[0]


def test_a_browser_is_led_to_the_form_and_back(closed: Client) -> None:
    refused = closed.get("/?q=blue+whales", Accept=BROWSER)
    assert refused.status == 303
    form = closed.get(refused.headers["location"], Accept=BROWSER).body.decode()
    assert '<input type="hidden" name="next" value="/?q=blue+whales">' in form
    assert "/assets/page.css" in form
    assert closed.get("/assets/page.css").status == 200
    entered = sign_in(closed, TOKEN, next="/?q=blue+whales")
    assert (entered.status, entered.headers["location"]) == (303, "/?q=blue+whales")


def test_a_form_is_read_only_if_it_is_short(closed: Client) -> None:
    assert sign_in(closed, TOKEN, next="/" + 10_000 * "a").status == 303
    assert sign_in(closed, TOKEN, next="/" + 60_000 * "a").status == 413


def test_the_cookie_opens_the_page_and_holds_no_token(closed: Client) -> None:
    entered = sign_in(closed, TOKEN)
    name, *attributes = entered.headers["set-cookie"].split("; ")
    assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=Strict"]
    assert TOKEN not in name
    assert closed.get("/", Accept=BROWSER, Cookie=f"a=b; {name}").status == 200
    assert closed.get("/v1/status", Cookie=name).status == 200
    assert closed.get("/", Accept=BROWSER, Cookie=f"{name}0").status == 303
    assert closed.get("/", Accept=BROWSER, Cookie=f"crx-session={TOKEN}").status == 303


def test_behind_a_proxy_with_tls_the_cookie_is_not_sent_without_it(
    library_service: SearchService,
) -> None:
    policy = make_policy(host="127.0.0.1", token=TOKEN, allowed_hosts=("search.example.org",))
    app = create_app(library_service, extensions=[sign_in_extension(policy)])
    with serving_app(Guard(app, policy=policy, metrics=library_service.metrics)) as client:
        headers = {"Host": "search.example.org", "Origin": "https://search.example.org"}
        entered = sign_in(client, TOKEN, **headers)
    assert "; Secure" in entered.headers["set-cookie"]


@pytest.mark.parametrize("token", ["", "wrong", f"{TOKEN}0", TOKEN[:-1], "schlüssel"])
def test_another_token_gives_no_cookie(token: str, closed: Client) -> None:
    refused = sign_in(closed, token)
    assert refused.status == 401
    assert "set-cookie" not in refused.headers
    assert "That is not the token." in refused.body.decode()


@pytest.mark.parametrize(
    "path",
    ["//evil.example", "/\\evil.example", "https://evil.example", "", "/a\nb", "javascript:1"],
)
def test_the_form_leads_to_no_other_site(path: str, closed: Client) -> None:
    assert sign_in(closed, TOKEN, next=path).headers["location"] == "/"


def test_a_form_of_another_site_is_refused(closed: Client) -> None:
    assert sign_in(closed, TOKEN, Origin="http://evil.example").status == 403
    assert sign_in(closed, TOKEN, Origin="null").status == 403
    foreign = {"Sec-Fetch-Site": "cross-site"}
    assert send_form(closed, "/sign-in", headers=foreign, token=TOKEN).status == 403


def test_a_request_of_another_site_is_refused_although_it_has_the_cookie(closed: Client) -> None:
    cookie = cookie_of(sign_in(closed, TOKEN))
    body = {"query": "whales"}
    assert closed.post("/v1/search", body, Cookie=cookie).status == 200
    foreign = {"Cookie": cookie, "Origin": "http://evil.example"}
    assert closed.post("/v1/search", body, **foreign).status == 403
    plain = send_form(closed, "/v1/search", headers={"Cookie": cookie}, query="whales")
    assert plain.status == 415


def test_signing_out_takes_the_cookie_away(closed: Client) -> None:
    cookie = cookie_of(sign_in(closed, TOKEN))
    assert "Sign out" in closed.get("/sign-in", Cookie=cookie).body.decode()
    left = send_form(closed, "/sign-out", headers={"Cookie": cookie})
    assert (left.status, left.headers["location"]) == (303, "/sign-in")
    assert "Max-Age=0" in left.headers["set-cookie"]


def test_a_server_without_a_token_has_no_form(page: Client) -> None:
    assert page.get("/sign-in").status == 404
