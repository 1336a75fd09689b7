"""Links in the Markdown files of the repository: each leads to a file, and to a heading of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("docs", "benches", "examples", "models", "tests", "fuzz")
PAGES = sorted([*ROOT.glob("*.md"), *(p for name in FOLDERS for p in (ROOT / name).rglob("*.md"))])
LINK = re.compile(
    r"\[[^\]]*\]\(([^)\s]+)\)|^\[[^\]]+\]:\s*(\S+)|(?:href|src|srcset)=\"([^\"]+)\"", re.MULTILINE
)
CODE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return CODE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> Iterator[str]:
    for found in LINK.finditer(prose(page)):
        yield next(filter(None, found.groups()))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    shown = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", each).lower() for each in headings]
    return {re.sub(r"[^\w\- ]", "", each).replace(" ", "-") for each in shown}


@pytest.mark.parametrize(
    ("page", "folders"),
    [("SECURITY.md", ["", "tests"]), ("RELIABILITY.md", ["", "tests", "tests/reliability"])],
)
def test_every_test_that_a_promise_names_is_there(page: str, folders: list[str]) -> None:
    named = set(re.findall(r"`([\w/]*test_\w+\.py)`", (ROOT / page).read_text(encoding="utf-8")))
    assert named
    missing = {
        name for name in named if not any((ROOT / each / name).is_file() for each in folders)
    }
    assert missing == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    dead = []
    for link in links(page):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        is_found = target.exists() and (
            not anchor or target.suffix != ".md" or anchor in anchors(target)
        )
        dead += [] if is_found else [link]
    assert dead == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `b`, c\n\n[x](gone.md) [y](#a-b-c)\n\n```\n[z](code.md)\n```\n")
    assert list(links(page)) == ["gone.md", "#a-b-c"]
    assert anchors(page) == {"a-b-c"}
