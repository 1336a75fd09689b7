"""A server with the page of an index of hostile, multilingual and long documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, start_chromium
from hostile_documents import write_documents
from served import SETTINGS as SERVED
from served import TOKEN, Client, serving_app

import crx
from crx_serve.access import make_policy
from crx_serve.app import create_app
from crx_serve.guard import Guard
from crx_serve.page.routes import page_extension
from crx_serve.page.sign_in import sign_in_extension
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService

SETTINGS = {**SERVED, "reranker": ""}


@pytest.fixture(scope="package")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an index of hostile, multilingual and long documents."""
    folder = tmp_path_factory.mktemp("library")
    write_documents(folder / "docs")
    with crx.open(folder / "library.crx", settings=SETTINGS) as index:
        index.add(folder / "docs")
        # One that a model has situated, with what it may have been told to write.
        index.contextualize("fake:")
    return folder / "library.crx"


@pytest.fixture(scope="package")
def library_service(library: Path) -> Iterator[SearchService]:
    """A service of the library, whose models are loaded."""
    made = SearchService([ServedIndex("library", library, settings=SETTINGS)])
    made.warm()
    yield made
    made.close()


@pytest.fixture(scope="package")
def page(library_service: SearchService) -> Iterator[Client]:
    """A client of a server of the library, with its guard."""
    app = create_app(library_service, extensions=[page_extension(library_service)])
    guarded = Guard(
        app, policy=make_policy(host="127.0.0.1", token=""), metrics=library_service.metrics
    )
    with serving_app(guarded) as made:
        yield made


@pytest.fixture
def closed(library_service: SearchService) -> Iterator[Client]:
    """A client of a server of the library that wants a token, and that sends none."""
    policy = make_policy(host="127.0.0.1", token=TOKEN)
    app = create_app(
        library_service, extensions=[page_extension(library_service), sign_in_extension(policy)]
    )
    guarded = Guard(app, policy=policy, metrics=library_service.metrics)
    with serving_app(guarded) as made:
        yield made


@pytest.fixture(scope="package")
def driver() -> Iterator[Any]:
    """A Chromium without a window."""
    made = start_chromium()
    yield made
    made.quit()


@pytest.fixture
def browser(driver: Any, page: Client) -> Browser:
    """A browser with light colours and a wide window."""
    made = Browser(driver, page)
    made.emulate()
    return made
