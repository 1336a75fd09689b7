"""Build the documentation site; any warning is an error.

    python docs/build.py                # into build/docs/site
    python docs/build.py --into DIR     # into DIR/site

Nothing is fetched, and the site asks for nothing that is not in it.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import generate
import llms

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).parent
ROOT = DOCS.parent
CONFIG = "zensical.toml"
# Made by docs/pictures.py.
PICTURES = "pictures"

_SECTION = re.compile(r"^\{\{ ([\w.]+)#(.+) \}\}$", re.MULTILINE)
_LINK_INTO_DOCS = re.compile(r"(?<=\]\()docs/(?=[\w/.-]+\.md)")


def main() -> int:
    parser = argparse.ArgumentParser(description="build the documentation site")
    parser.add_argument("--into", type=Path, default=ROOT / "build" / "docs", metavar="DIR")
    into: Path = parser.parse_args().into
    return build(into)


def build(into: Path) -> int:
    """Write the pages and the site below a folder; return the exit code of the site generator."""
    shutil.rmtree(into, ignore_errors=True)
    project = tomllib.loads((DOCS / CONFIG).read_text(encoding="utf-8"))["project"]
    pages = all_pages()
    for path, text in pages.items():
        page = into / project["docs_dir"] / path
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    shutil.copytree(DOCS / PICTURES, into / project["docs_dir"] / PICTURES)
    shutil.copy(DOCS / CONFIG, into / CONFIG)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(into / CONFIG)]
    code = subprocess.run(command, check=False, cwd=into).returncode
    if code == 0:
        site = into / project["site_dir"]
        order = {path: pages[path] for path in _paths(project["nav"])}
        llms.write(site, order, name=project["site_name"], about=project["site_description"])
    return code


def all_pages() -> dict[str, str]:
    """Return every page as Markdown, by path below the site's root."""
    written = {
        path.relative_to(DOCS).as_posix(): _with_sections(path)
        for path in sorted(DOCS.rglob("*.md"))
    }
    changes = {"changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")}
    return {**written, **generate.pages(), **changes}


def section(file: str, heading: str) -> str:
    """Return what stands under a heading of a file of the repository, up to the next heading."""
    text = (ROOT / file).read_text(encoding="utf-8")
    found = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.M | re.S)
    if found is None:
        raise SystemExit(f"{file}: no heading {heading!r}; a page of the documentation quotes it")
    return found[2].strip()


def _with_sections(page: Path) -> str:
    """Return a page with each line `{{ FILE#HEADING }}` replaced by that section.

    A section of a file in the repository's root links to pages as `docs/...`; on the site those
    links are relative to the page that quotes it.
    """
    up = "../" * (len(page.relative_to(DOCS).parts) - 1)

    def quote(found: re.Match[str]) -> str:
        return _LINK_INTO_DOCS.sub(up, section(found[1], found[2]))

    return _SECTION.sub(quote, page.read_text(encoding="utf-8"))


def _paths(nav: Any) -> list[str]:
    """Return the pages of a navigation in order."""
    if isinstance(nav, str):
        return [nav]
    members = nav.values() if isinstance(nav, dict) else nav
    return [path for each in members for path in _paths(each)]


if __name__ == "__main__":
    sys.exit(main())
