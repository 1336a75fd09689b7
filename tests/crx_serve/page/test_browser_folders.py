"""A folder that is added from the page, and the picture of a PDF's page, in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import ENTER, TAB, Browser
from pdfs import pdf
from served import SETTINGS, TOKEN, Client, serving_app

import crx
from crx_serve.access import make_policy
from crx_serve.added_folders import FolderAdder
from crx_serve.app import create_app
from crx_serve.guard import Guard
from crx_serve.page.add_folder import add_folder_extension
from crx_serve.page.routes import page_extension
from crx_serve.page.sign_in import sign_in_extension
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder below which folders may be added, with one that holds a PDF of two pages."""
    (tmp_path / "shelf" / "new").mkdir(parents=True)
    pages = [["Whales sing in the seas."], ["A narwhal has one tusk."]]
    (tmp_path / "shelf" / "new" / "arctic.pdf").write_bytes(pdf(pages))
    return tmp_path / "shelf"


@pytest.fixture
def server(tmp_path: Path, shelf: Path) -> Iterator[Client]:
    """A server that lets the page add folders, of an index of one document."""
    (tmp_path / "whales.md").write_text("# Whales\n\nBlue whales eat krill.\n")
    with crx.open(tmp_path / "sea.crx", settings=SETTINGS) as index:
        index.add(tmp_path / "whales.md")
    service = SearchService([ServedIndex("sea", tmp_path / "sea.crx", settings=SETTINGS)])
    adder = FolderAdder(service, allowed=[shelf])
    policy = make_policy(host="127.0.0.1", token=TOKEN)
    extensions = [
        page_extension(service, adder=adder),
        add_folder_extension(adder, policy=policy),
        sign_in_extension(policy),
    ]
    app = Guard(create_app(service, extensions=extensions), policy=policy, metrics=service.metrics)
    with serving_app(app) as made:
        yield made
    adder.close()
    service.close()


def test_a_folder_is_added_and_its_pdf_is_shown_as_a_picture_beside_the_list(
    driver: Any, server: Client, shelf: Path
) -> None:
    browser = Browser(driver, server)
    browser.emulate(width=1280, mobile=False)
    browser.open("/")
    browser.press(TOKEN, ENTER)
    browser.wait("document.querySelector('.here')")
    driver.find_element("link text", "Add a folder").click()
    browser.wait("document.querySelector('#folder')")
    browser.run("(document.querySelector('#folder').value = arguments[0])", str(shelf / "new"))
    browser.run("document.querySelector('#folder').focus()")
    browser.press(TAB, "wrong", ENTER)
    browser.wait("document.querySelector('.note[role=alert]')")
    browser.run("(document.querySelector('#folder').value = arguments[0])", str(shelf / "new"))
    browser.run("document.querySelector('#token').focus()")
    browser.press(TOKEN, ENTER)
    browser.wait("!document.querySelector('.note[role=alert]')")
    browser.wait(
        "fetch('/v1/documents').then(a => a.json()).then(b => window.count = b.documents.length)"
        " && window.count == 2"
    )
    browser.open("/?q=narwhal+tusk")
    picture = "document.querySelector('#preview img.page-picture')"
    browser.wait(f"{picture}?.complete && {picture}.naturalWidth > 100")
    assert browser.text(".result .location") == "page 2"
    assert "narwhal" in browser.text("#preview .text")
    browser.open("/folders")
    assert "1 file added" in browser.text(".note[role=status]")
