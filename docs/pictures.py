"""Make the pictures of the README: a session in a terminal, and the page of the server.

    python docs/pictures.py             # docs/pictures/search.svg, page-light.png, page-dark.png
    python docs/pictures.py --no-page   # without the page, which needs Chromium

Both show what the program prints and serves for a new index of the pages in this folder. The
session is played in a pseudoterminal, so that colours are those of a terminal.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import pty
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
COLUMNS = 118
SESSION = ("crx index docs", "crx search what survives a power failure")
QUESTION = "how are both rankings fused?"
SIZE = "1280,860"
SCHEMES = {"page-light.png": (), "page-dark.png": ("--force-dark-mode",)}

NOT_SHOWN = shutil.ignore_patterns("pictures", "*.py", "*.toml", "__pycache__")

_LINK = re.compile(r"\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)")
# A picture loads nothing.
_FONT_FACES = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description="make the pictures of the README")
    parser.add_argument("--no-page", action="store_true", help="make the session alone")
    arguments = parser.parse_args()
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        # A copy, so that paths are short and no index is made in the repository.
        shutil.copytree(DOCS, Path(folder) / "docs", ignore=NOT_SHOWN)
        (PICTURES / "search.svg").write_text(record_session(Path(folder)), encoding="utf-8")
        if not arguments.no_page:
            with serve(Path(folder)) as url:
                # Its scores are kept: the browser, as it starts, leaves too little time to rerank.
                urllib.request.urlopen(f"{url}/?q={quote(QUESTION)}").read()
                for name, options in SCHEMES.items():
                    take_picture(f"{url}/?q={quote(QUESTION)}", PICTURES / name, options)


def record_session(folder: Path) -> str:
    """Return an SVG of the commands of the session and what they print."""
    with io.StringIO() as discarded:
        console = Console(record=True, width=COLUMNS, file=discarded, force_terminal=True)
        for command in SESSION:
            console.print(Text(f"$ {command}", style="bold"))
            console.print(Text.from_ansi(_LINK.sub("", run_in_terminal(command, folder))))
        svg = console.export_svg(title="crx", theme=DIMMED_MONOKAI, unique_id="crx")
    return _FONT_FACES.sub("", svg)


def run_in_terminal(command: str, folder: Path) -> str:
    """Return what a command leaves on the screen of a terminal."""
    master, slave = pty.openpty()
    done = subprocess.Popen(
        words(command), cwd=folder, env=environment(folder), stdout=slave, stderr=slave
    )
    os.close(slave)
    received = b""
    with contextlib.suppress(OSError):  # the end of a pseudoterminal is an error
        while data := os.read(master, 65536):
            received += data
    os.close(master)
    if done.wait() != 0:
        raise SystemExit(f"{command}: exit code {done.returncode}")
    lines = received.decode().replace("\r\n", "\n").split("\n")
    # Progress is written over itself: what stands behind the last return is seen.
    return "\n".join(line.rpartition("\r")[2] for line in lines).strip("\n")


def words(command: str) -> list[str]:
    return [sys.executable, "-m", *command.split()]


def environment(folder: Path) -> Mapping[str, str]:
    """Return the environment of a user with no settings and a terminal."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("CRX_")}
    terminal = {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": "26"}
    return {**ours, **terminal, "CRX_HOME": str(folder / "home")}


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve the index of the session on a free port; yield the URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        words(f"crx serve --port {port} --quiet"), cwd=folder, env=environment(folder)
    )
    try:
        wait_until_ready(url)
        yield url
    finally:
        server.terminate()
        server.wait()


def wait_until_ready(url: str) -> None:
    health = f"{url}/health"
    for _ in range(600):
        with contextlib.suppress(urllib.error.URLError), urllib.request.urlopen(health) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise SystemExit(f"{url}: the server does not answer")


def take_picture(url: str, path: Path, options: tuple[str, ...]) -> None:
    """Write what a browser without a window shows."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no Chromium: install it, or use --no-page")
    common = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
    wait = "--virtual-time-budget=5000"
    target = (f"--window-size={SIZE}", wait, f"--screenshot={path}", url)
    subprocess.run([browser, *common, *options, *target], check=True, capture_output=True)


if __name__ == "__main__":
    main()
