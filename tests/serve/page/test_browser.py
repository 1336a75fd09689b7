"""The page in a real Chromium: what its script does, and what hostile documents do not do."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served import TOKEN, Client

webdriver = pytest.importorskip("selenium.webdriver")
waiting = pytest.importorskip("selenium.webdriver.support.wait")

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="Chromium or its driver is not installed"
)


class Browser:
    """A Chromium that shows the page of one server."""

    def __init__(self, driver: Any, client: Client) -> None:
        self.driver = driver
        self._client = client
        self._wait = waiting.WebDriverWait(driver, 30)

    def open(self, path: str) -> None:
        self.driver.get(self._client.url + path)

    def run(self, script: str, *arguments: object) -> Any:
        """Return what a script returns."""
        return self.driver.execute_script(f"return {script}", *arguments)

    def wait(self, script: str) -> Any:
        """Return the value of an expression once it is true."""
        return self._wait.until(lambda _: self.run(script), script)

    def press(self, *keys: str) -> None:
        """Press keys on the element that has the focus."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def click(self, selector: str) -> None:
        self.driver.find_element("css selector", selector).click()

    def text(self, selector: str) -> str:
        return str(self.run("document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def emulate(self, *, scheme: str = "light", width: int = 0, mobile: bool = True) -> None:
        """Set the colour scheme, and the width of a screen or none."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        if width:
            size = {"width": width, "height": 740, "deviceScaleFactor": 1, "mobile": mobile}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        else:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    """A Chromium without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for each in (*OPTIONS, "--window-size=1100,900"):
        options.add_argument(each)
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield made
    made.quit()


@pytest.fixture
def browser(driver: Any, page: Client) -> Browser:
    """A browser with light colours and a wide window."""
    made = Browser(driver, page)
    made.emulate()
    return made


ENTER, ESCAPE, UP, DOWN = "\ue007", "\ue00c", "\ue013", "\ue015"
FIRST = "document.querySelector('.result .open')?.innerText"


def test_typing_searches_without_loading_the_page_again(browser: Browser) -> None:
    browser.open("/")
    browser.run("(window.stayed = true)")
    browser.press("whales eat")
    browser.wait("document.querySelector('.passage mark')?.innerText.toLowerCase() == 'whales'")
    browser.press(" krill")
    browser.wait("location.search == '?q=whales+eat+krill'")
    assert browser.run("window.stayed")
    assert browser.run("document.title") == "whales eat krill - crx"


def test_a_search_that_was_overtaken_shows_nothing(browser: Browser) -> None:
    browser.open("/")
    # The answer to the first search arrives after that to the second.
    browser.run(
        """(() => { const real = window.fetch; window.aborted = 0; window.fetch = (url, given) =>
        url.includes('narwhal') ? new Promise((_, reject) => given.signal.addEventListener('abort',
        () => { window.aborted += 1; reject(new DOMException('', 'AbortError')); }))
        : real(url, given); })()"""
    )
    browser.press("narwhal")
    browser.wait("document.body.classList.contains('searching')")
    browser.run("(document.getElementById('q').value = 'humpbacks', 1)")
    browser.run("document.getElementById('q').dispatchEvent(new Event('input'))")
    browser.wait("document.querySelector('.passage mark')?.innerText == 'Humpbacks'")
    assert browser.run("window.aborted") == 1


def test_a_filter_narrows_the_passages_at_once(browser: Browser) -> None:
    browser.open("/?q=krill")
    browser.click(".filters summary")
    browser.click("select[name=lang] option[value=ja]")
    browser.wait(f"{FIRST} == '鯨の食べ物' && document.querySelectorAll('.result').length == 1")
    assert browser.run("location.search") == "?q=krill&lang=ja"


def test_a_chip_narrows_the_passages_and_takes_itself_away(browser: Browser) -> None:
    browser.open("/?q=krill")
    browser.run("(window.stayed = true)")
    browser.run(
        "[...document.querySelectorAll('.chip')].find(e => /^ja/.test(e.innerText)).click()"
    )
    browser.wait(
        "document.querySelectorAll('.result').length == 1 && location.search == '?q=krill&lang=ja'"
    )
    assert browser.run("document.querySelector('select[name=lang]').value") == "ja"
    assert browser.text(".chip.set bdi") == "ja"
    browser.click(".chip.set")
    browser.wait("document.querySelectorAll('.result').length > 2 && location.search == '?q=krill'")
    assert browser.run("window.stayed")


def test_the_home_page_leads_to_a_kind_and_to_the_newest(browser: Browser) -> None:
    browser.open("/")
    assert "8 documents" in browser.text(".here")
    assert browser.run("document.querySelectorAll('.newest li').length") == 8
    browser.run(
        "[...document.querySelectorAll('.chip')].find(e => /python/.test(e.innerText)).click()"
    )
    browser.wait("document.querySelectorAll('.newest li').length == 1")
    assert browser.text(".here h2") == "1 document with these filters"
    browser.click(".newest a")
    browser.wait("document.querySelector('h1')?.innerText == 'search.py'")


def test_a_passage_opens_its_document_scrolled_to_it(browser: Browser) -> None:
    browser.open("/?q=narwhal")
    browser.click(".result .open")
    browser.wait("document.body.classList.contains('document')")
    top = "document.getElementById('passage').getBoundingClientRect().top"
    browser.wait(f"scrollY > 1000 && {top} >= 0 && {top} < innerHeight")
    assert "narwhal" in browser.run(
        "[...document.querySelectorAll('.span mark')].map(each => each.innerText)"
    )


def test_a_link_to_lines_beyond_the_first_page_shows_them(browser: Browser) -> None:
    browser.open("/?q=narwhal")
    path = browser.run("new URL(document.querySelector('.result .open').href).pathname")
    browser.open(f"{path}#L2501-2502")
    browser.wait(
        "document.getElementById('passage')?.innerText.startsWith('Entry 2500, a narwhal')"
    )
    assert browser.run("document.querySelectorAll('.span').length") == 2


def test_why_shows_the_stages_and_the_context_apart(browser: Browser) -> None:
    browser.open("/?q=humpbacks+sing")
    assert not browser.text(".why table")
    browser.click(".why summary")
    assert "Words (BM25)" in browser.text(".why table")
    assert browser.text(".situated.context .label").startswith("Context, generated by a model")


def test_an_answer_is_streamed_with_links_to_what_it_cites(browser: Browser) -> None:
    browser.open("/?q=what+do+blue+whales+eat")
    browser.click("#ask")
    browser.wait("document.querySelector('.said')?.getAttribute('aria-busy') == 'false'")
    assert browser.text(".said")
    assert browser.run("document.querySelector('.said a').hash") == "#cite1"
    url = browser.run("document.querySelector('#cite1 a').href")
    browser.driver.get(url)
    assert browser.run("document.getElementById('passage') != null")


def test_the_keys_search_move_open_and_go_back(browser: Browser) -> None:
    focus = "document.activeElement.closest('.result')?.id"
    browser.open("/?q=krill")
    browser.press("/")
    assert browser.run("document.activeElement.id") == "q"
    browser.press(DOWN)
    assert browser.run(focus) == "r1"
    browser.press("j", "j", "k")
    assert browser.run(focus) == "r2"
    browser.press(ENTER)
    browser.wait("document.body.classList.contains('document')")
    browser.press(ESCAPE)
    browser.wait("document.body.classList.contains('search')")
    assert browser.run("location.search") == "?q=krill"


def test_the_preview_follows_the_arrows_on_a_wide_screen(browser: Browser) -> None:
    title = "document.querySelector('#preview h2')?.innerText"
    browser.emulate(width=1280, mobile=False)
    browser.open("/?q=krill")
    browser.wait(f"{title} == {FIRST}")
    assert browser.run("document.querySelector('#preview .rendered mark') != null")
    browser.press(ESCAPE, DOWN, DOWN)
    second = browser.run("document.querySelectorAll('.result .open')[1].innerText")
    browser.wait(f"{title} == '{second}'")
    assert browser.run("document.querySelector('.previewed').id") == "r2"
    browser.press(UP)
    browser.wait(f"{title} == {FIRST}")
    passage, pane = (
        browser.run(f"document.querySelector('{each}').getBoundingClientRect().toJSON()")
        for each in ("#preview #passage", "#preview")
    )
    assert pane["top"] <= passage["top"] < pane["bottom"]
    assert browser.run("scrollX") == 0


def test_a_narrow_screen_has_no_preview_and_asks_for_none(browser: Browser) -> None:
    browser.emulate(width=768)
    browser.open("/?q=krill")
    browser.press(ESCAPE, DOWN)
    browser.driver.execute_async_script("setTimeout(arguments[0], 300)")
    asked = "performance.getEntries().filter(e => e.name.includes('/preview/')).length"
    assert browser.run(asked) == 0
    assert browser.run("getComputedStyle(document.getElementById('preview')).display") == "none"


def test_searches_are_saved_and_remembered_in_the_browser_alone(browser: Browser) -> None:
    browser.open("/")
    browser.run("localStorage.clear()")
    browser.press("krill", ENTER)
    browser.wait("document.activeElement.closest('.result')?.id == 'r1'")
    browser.click(".save")
    assert browser.text(".save") == "★ Saved"
    browser.open("/?q=humpbacks&lang=en")
    browser.wait("document.querySelector('.save')?.innerText == '☆ Save this search'")
    browser.run("document.querySelector('.result .open').click()")
    browser.wait("document.body.classList.contains('document')")
    browser.open("/")
    browser.wait("document.querySelectorAll('.searches').length == 2")
    shown = "[...document.querySelectorAll('.searches')].map(each => each.innerText.split('\\n'))"
    assert browser.run(shown) == [
        ["Saved searches", "krill", "×"],
        ["Recent searches", "humpbacks · en", "×", "krill", "×", "Forget all"],
    ]
    assert browser.run("document.querySelector('.searches a').search") == "?q=krill"
    browser.click(".searches button.plain")
    browser.wait("document.querySelectorAll('.searches').length == 1")
    browser.click(".searches li button")
    browser.wait("document.querySelectorAll('.searches').length == 0")


def test_what_another_program_wrote_into_the_browser_s_store_does_no_harm(
    browser: Browser,
) -> None:
    browser.open("/")
    written = '["q=<img src=x onerror=document.title=1>", 5, null, "lang=en", "javascript:1"]'
    browser.run("localStorage.setItem('crx-recent', arguments[0])", written)
    browser.open("/")
    browser.wait("document.querySelectorAll('.searches li').length == 1")
    assert browser.run("document.querySelectorAll('main img').length") == 0
    browser.run("localStorage.setItem('crx-recent', '{')")
    browser.open("/")
    browser.wait("document.querySelector('.newest')")
    assert browser.run("document.querySelectorAll('.searches').length") == 0
    browser.run("localStorage.clear()")


def test_a_citation_jumps_to_the_passage_in_the_preview(browser: Browser) -> None:
    browser.emulate(width=1280, mobile=False)
    browser.open("/?q=what+do+blue+whales+eat")
    browser.click("#ask")
    browser.wait("document.querySelector('.said a')")
    browser.run("document.getElementById('preview').removeAttribute('data-path')")
    browser.click(".said a")
    cited = "new URL(document.querySelector('#cite1 a').href)"
    browser.wait(
        "document.getElementById('preview').dataset.path"
        f" == {cited}.pathname.replace('documents', 'preview') + {cited}.search"
    )
    assert browser.run("document.querySelector('#preview #passage') != null")


def test_o_opens_the_original_of_the_passage(browser: Browser) -> None:
    browser.open("/?q=fuse+rankings")
    browser.press(ESCAPE, DOWN, "o")
    browser.wait("location.pathname.startsWith('/original/')")
    assert "def fuse(rankings):" in browser.text("body")


def test_a_document_is_rendered_and_shown_as_text(browser: Browser) -> None:
    browser.open("/?q=humpbacks+sing")
    browser.click(".result .open")
    browser.wait("document.querySelector('.rendered h3')?.innerText == 'Song'")
    browser.click(".views a")
    browser.wait("document.querySelector('.line .span mark')?.innerText == 'Humpbacks'")


def test_enter_in_the_search_moves_to_the_first_passage(browser: Browser) -> None:
    browser.open("/")
    browser.press("humpbacks", ENTER)
    browser.wait("document.activeElement.closest('.result')?.id == 'r1'")


def test_a_citation_is_copied(browser: Browser) -> None:
    permission = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    browser.driver.execute_cdp_cmd("Browser.grantPermissions", permission)
    browser.open("/?q=humpbacks+sing")
    browser.click(".copy")
    browser.wait("document.querySelector('.copy').innerText == 'Copied'")
    copied = browser.driver.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], arguments[0])"
    )
    assert copied.startswith("Whales, /")
    assert ", lines " in copied


def test_dark_colours_are_those_of_the_system(browser: Browser) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    browser.open("/")
    light = browser.run(colour)
    browser.emulate(scheme="dark")
    assert _brightness(browser.run(colour)) < 60 < 200 < _brightness(light)


def test_hostile_documents_run_nothing(browser: Browser) -> None:
    for path in _paths(browser):
        browser.open(path)
        assert browser.run("document.querySelectorAll('main img, main script').length") == 0
        assert browser.run("document.title") != "owned", path
    browser.open("/?q=plankton+net")
    browser.click("#ask")
    browser.wait("document.querySelector('.said')?.getAttribute('aria-busy') == 'false'")
    assert "<script>" in browser.text(".said")
    assert browser.run("document.title") == "plankton net - crx"


@pytest.mark.parametrize(
    ("width", "scheme"), [(360, "light"), (768, "dark"), (1280, "light"), (1920, "dark")]
)
def test_axe_finds_no_violation_and_nothing_overflows(
    width: int, scheme: str, browser: Browser
) -> None:
    axe = _read_axe()
    browser.emulate(scheme=scheme, width=width, mobile=width < 1000)
    for path in _paths(browser):
        browser.open(path)
        if width > 1000 and browser.run("document.querySelector('.result') != null"):
            browser.wait("document.querySelector('#preview .text')")
        browser.run("document.querySelectorAll('details').forEach(each => each.open = true)")
        browser.driver.execute_script(axe)
        found = browser.driver.execute_async_script(
            "axe.run(document).then(arguments[0], error => arguments[0]({failed: `${error}`}))"
        )
        assert _describe(found["violations"]) == [], path
        assert browser.run("document.documentElement.scrollWidth") <= width, path


def _paths(browser: Browser) -> list[str]:
    """Return the paths of every kind of page, with hostile and multilingual documents."""
    browser.open("/?q=plankton+net")
    hostile = browser.run("document.querySelector('.result .open').getAttribute('href')")
    return [
        "/",
        "/?lang=ja",
        "/?q=krill",
        "/?q=plankton+net",
        hostile,
        "/ask?q=krill",
        "/status",
        "/docs",
        "/?n=0",
    ]


def _read_axe() -> str:
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or not found.submodule_search_locations:
        pytest.skip("axe-core is not installed; `make test-all` installs it")
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")


def _describe(violations: list[Any]) -> list[str]:
    return [
        f"{each['id']}: {node['html'][:200]}"
        for each in violations
        for node in each.get("nodes", ())
    ]


def _brightness(colour: str) -> float:
    numbers = [float(each) for each in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(numbers) / 3


def test_a_browser_signs_in_and_searches_while_typing(driver: Any, closed: Client) -> None:
    browser = Browser(driver, closed)
    browser.emulate()
    browser.open("/?q=whales")
    browser.press("wrong", ENTER)
    browser.wait("document.querySelector('.note')?.innerText == 'That is not the token.'")
    browser.press(TOKEN, ENTER)
    browser.wait("location.search == '?q=whales' && document.querySelector('.passage')")
    assert browser.run("document.cookie") == ""
    browser.run("document.querySelector('input[name=q]').select()")
    browser.press("krill")
    browser.wait("location.search == '?q=krill' && document.querySelector('.passage mark')")
    browser.open("/sign-in")
    browser.click("main button")
    browser.wait("document.querySelector('#token')")
    assert driver.get_cookies() == []
