"""The page for everybody: by keyboard alone, without scripts, on all screens, in light and dark."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import ENTER, TAB, Browser, page_paths, start_chromium
from served import Client

# What the keyboard must reach.
USABLE = "a[href], button, input:not([type=hidden]), select, summary"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 390, 768, 1280, 1920])
def test_axe_finds_no_violation_and_nothing_overflows(
    width: int, scheme: str, browser: Browser
) -> None:
    axe = _read_axe()
    browser.emulate(scheme=scheme, width=width, mobile=width < 1000)
    for path in page_paths(browser):
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


@pytest.mark.parametrize("path", ["/", "/?q=humpbacks", "/status"])
def test_tab_reaches_all_that_can_be_used_and_shows_where_it_is(
    path: str, browser: Browser
) -> None:
    browser.open(path)
    count = browser.run(
        f"(window.usable = [...document.querySelectorAll('{USABLE}')]"
        ".filter(each => each.checkVisibility({visibilityProperty: true}) && each.tabIndex >= 0),"
        "window.reached = new Set(), document.activeElement.blur(), usable.length)"
    )
    assert count > 1
    for _ in range(count + 2):
        browser.press(TAB)
        shown = browser.run(
            "(style => (reached.add(document.activeElement), style.outlineStyle != 'none'"
            " || style.boxShadow != 'none' || document.activeElement == document.body))"
            "(getComputedStyle(document.activeElement))"
        )
        assert shown, browser.run("document.activeElement.outerHTML.slice(0, 200)")
    missed = "usable.filter(each => !reached.has(each)).map(each => each.outerHTML.slice(0, 200))"
    assert browser.run(missed) == []


def test_a_document_is_found_filtered_and_opened_by_keyboard_alone(browser: Browser) -> None:
    browser.open("/")
    browser.press("krill", ENTER)
    browser.wait("document.activeElement.closest('.result')?.id == 'r1'")
    browser.run("(window.chip = [...document.querySelectorAll('.chip')][0], chip.focus())")
    browser.press(ENTER)
    browser.wait("document.querySelector('.chip.set')")
    browser.press("/", TAB)
    browser.run("document.querySelector('.result .open').focus()")
    browser.press(ENTER)
    browser.wait("document.body.classList.contains('document')")


@pytest.fixture
def plain(page: Client) -> Iterator[Browser]:
    """A browser that runs no scripts."""
    driver = start_chromium(has_scripts=False)
    yield Browser(driver, page)
    driver.quit()


def test_without_scripts_everything_but_the_preview_works(plain: Browser) -> None:
    find = plain.driver.find_element
    plain.open("/")
    find("css selector", "#q").send_keys("krill" + ENTER)
    assert "?q=krill" in plain.driver.current_url
    assert "krill" in find("css selector", ".passage mark").text.lower()
    find("css selector", ".chip").click()
    assert find("css selector", ".chip.set").text
    find("css selector", ".result .open").click()
    assert "/documents/" in plain.driver.current_url
    assert find("css selector", "#passage").text
    plain.open("/status")
    assert "library" in find("css selector", "main").text
    plain.open("/docs")
    assert "/v1/search" in find("css selector", "main").text


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
