"""A Chromium for tests of the page."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from served import Client

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
ENTER, ESCAPE, UP, DOWN, TAB = "\ue007", "\ue00c", "\ue013", "\ue015", "\ue004"


class Browser:
    """A Chromium that shows the page of one server."""

    def __init__(self, driver: Any, client: Client) -> None:
        waiting = pytest.importorskip("selenium.webdriver.support.wait")
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


def start_chromium(*, has_scripts: bool = True) -> Any:
    """Return the driver of a Chromium without a window; skips the test if there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    if not (CHROMIUM and DRIVER):
        pytest.skip("Chromium or its driver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for each in (*OPTIONS, "--window-size=1100,900"):
        options.add_argument(each)
    if not has_scripts:
        settings = {"profile.managed_default_content_settings.javascript": 2}
        options.add_experimental_option("prefs", settings)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


def page_paths(browser: Browser) -> list[str]:
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
