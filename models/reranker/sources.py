"""Step 1: download the pinned source distributions and extract the answers of the questions."""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

HERE = Path(__file__).parent
SIMPLE = "https://pypi.org/simple/"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its package, and the span of a file in the package that answers it."""

    id: str
    text: str
    package: str
    path: str
    answer: str


def fetch(into: Path, *, index: str = SIMPLE) -> None:
    """Download the missing archives, and check every archive against its pinned hash."""
    into.mkdir(parents=True, exist_ok=True)
    for pin in json.loads((HERE / "pins.json").read_text()):
        archive = into / f"{pin['package']}-{pin['version']}.tar.gz"
        if not archive.exists():
            archive.write_bytes(_download(index, pin["package"], pin["version"]))
        if hashlib.sha256(archive.read_bytes()).hexdigest() != pin["sha256"]:
            raise SystemExit(f"{archive}: not the pinned file; delete it and run the command again")


def _download(index: str, package: str, version: str) -> bytes:
    page = f"{index}{package.replace('_', '-')}/"
    with urllib.request.urlopen(page, timeout=60) as answer:
        links = re.findall(r'<a href="([^"#]+)', answer.read().decode())
    wanted = f"{package}-{version}.tar.gz".replace("-", "_").lower()
    for link in links:
        if link.rsplit("/", 1)[-1].replace("-", "_").lower() == wanted:
            with urllib.request.urlopen(urljoin(page, link), timeout=600) as answer:
                data: bytes = answer.read()
                return data
    raise SystemExit(f"{package} {version}: no source distribution at {page}")


def questions() -> list[dict[str, str]]:
    """Return the objects in `questions.jsonl`."""
    with (HERE / "questions.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def files(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (path below the archive's top folder, bytes) of its regular files."""
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and (data := tar.extractfile(member)) is not None:
                yield member.name.partition("/")[2], data.read()


def spans(archive: Path, asked: list[dict[str, str]]) -> list[Question]:
    """Return the questions of a package with their answers, each checked against its hash."""
    wanted = {line["path"] for line in asked}
    texts = {
        path: data.decode("utf-8", "replace") for path, data in files(archive) if path in wanted
    }
    found = []
    for line in asked:
        answer = texts[line["path"]][int(line["start"]) : int(line["end"])]
        if hashlib.sha256(answer.encode()).hexdigest() != line["sha256"]:
            raise SystemExit(
                f"{archive}: the answer to {line['id']} in {line['path']} does not match its hash"
            )
        found.append(Question(line["id"], line["question"], line["package"], line["path"], answer))
    return found
