"""`crx show --page`: a page of a PDF as a picture."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Crx
from pdfs import pdf

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def paper(crx: Crx, here: Path) -> Path:
    file = here / "paper.pdf"
    file.write_bytes(pdf([["Whales eat krill."], ["Bread needs salt."]]))
    assert crx("index", "paper.pdf", "-q").code == 0
    return file


def test_a_page_is_written_beside_the_caller(crx: Crx, paper: Path) -> None:
    assert crx("show", "paper.pdf", "--page", 2).out == "paper-page-2.png\n"
    plain = Path("paper-page-2.png").read_bytes()
    assert plain.startswith(PNG)
    done = crx("show", "paper.pdf", "--page", 2, "--mark", "needs  SALT", "--output", "a.png")
    assert done.out == "a.png\n"
    assert Path("a.png").read_bytes() not in (b"", plain)


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (("--page", 9), "has no page 9; it has 2 pages"),
        (("--page", 1, "--mark", "salt"), "salt: not on page 1"),
        (("--mark", "salt"), "only with --page"),
        (("--page", 1, "--output", "none/a.png"), "none/a.png: cannot be written"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(
    arguments: tuple[object, ...], fact: str, crx: Crx, paper: Path
) -> None:
    done = crx("show", "paper.pdf", *arguments)
    assert done.code != 0
    assert fact in done.err


def test_a_changed_file_is_not_drawn(crx: Crx, paper: Path) -> None:
    paper.write_bytes(pdf([["Another text."]]))
    assert "is gone or has changed" in crx("show", "paper.pdf", "--page", 1).err


def test_a_page_of_a_link_that_was_indexed_is_refused_with_the_next_step(
    crx: Crx, paper: Path
) -> None:
    link = paper.parent / "linked.pdf"
    link.symlink_to(paper)
    assert crx("index", "linked.pdf", "-q").code == 0
    done = crx("show", "linked.pdf", "--page", 1)
    assert (done.code, done.out) == (2, "")
    expected = f"{link}: is a link, which is not followed; index the file that it leads to\n"
    assert done.err.endswith(expected)


def test_a_link_under_the_default_name_is_not_followed(crx: Crx, paper: Path) -> None:
    outside = paper.parent.parent / "outside.txt"
    within = paper.parent / "within.txt"
    link = Path("paper-page-1.png")
    for file in (outside, within):
        file.write_text("mine")
        link.symlink_to(file)
        done = crx("show", "paper.pdf", "--page", 1)
        assert done.code != 0
        assert "paper-page-1.png: a link" in done.err
        assert file.read_text() == "mine"
        link.unlink()


def test_a_picture_replaces_an_earlier_one_and_no_other_name_of_its_file(
    crx: Crx, paper: Path
) -> None:
    other = paper.parent / "other.txt"
    other.write_text("mine")
    Path("paper-page-1.png").hardlink_to(other)
    assert crx("show", "paper.pdf", "--page", 1).code == 0
    assert Path("paper-page-1.png").read_bytes().startswith(PNG)
    assert other.read_text() == "mine"
    assert crx("show", "paper.pdf", "--page", 1).code == 0
