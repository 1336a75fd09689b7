"""The line of a hit that answers, and the headings and the page that are named for it."""

from __future__ import annotations

from pathlib import Path

from pdfs import pdf

import crx
from crx._show.answer_span import find_answer


def test_the_answer_is_the_line_with_most_words_of_the_query() -> None:
    text = "whales sing\n\nwhales eat krill\nkrill is small"
    start, end = find_answer(text, "what eats krill")
    assert text[start:end] == "whales eat krill"
    assert find_answer(text, "penguins") == (0, len(text))
    assert find_answer("", "krill") == (0, 0)


def test_a_heading_answers_only_if_no_line_below_it_does() -> None:
    text = (
        "## Payment\n\nThe buyer pays each invoice within forty-five days.\n"
        "Late amounts bear interest of five percent a year from the due date.\n"
    )
    start, end = find_answer(text, "payment with interest")
    assert text[start:end].startswith("Late amounts bear interest")
    assert find_answer(text, "payment") == (0, 10)
    code = "# the whale of the sea\nimport krill\n\n\ndef f():\n    return krill\n"
    assert find_answer(code, "whale") == (0, 22)


def test_the_headings_of_a_passage_are_those_of_the_line_that_answers(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lease.md").write_text(
        "# Lease\n\n## 4. Liability\n\nNobody is liable.\n\n"
        "## 5. Term and termination\n\nEither party ends the lease with six months' notice.\n"
    )
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add(tmp_path / "docs")
        (passage,) = index.search("who ends it with notice").passages
        assert passage.headings[-1] == "5. Term and termination"
        assert index.search("liable").passages[0].headings[-1] == "4. Liability"


def test_the_page_of_a_passage_is_that_of_the_line_that_answers(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    pages = [["Whales sing in the seas."], ["Seals eat krill."], ["Penguins swim."]]
    (tmp_path / "docs" / "animals.pdf").write_bytes(pdf(pages))
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add(tmp_path / "docs")
        (passage,) = index.search("krill").passages
        assert passage.text.count("\n") > 1
        assert passage.pages == ("2", "2")


def test_the_headings_for_a_pattern_are_those_of_its_match(tmp_path: Path) -> None:
    (tmp_path / "lease.md").write_text(
        "# Lease\n\n## 4. Rooms\n\nIt has 2 d-class rooms.\n\n## 5. Term\n\nOn 2024-05 it ends.\n"
    )
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add(tmp_path / "lease.md")
        (passage,) = index.search(r"re:\d{4}-\d{2}").passages
    assert passage.headings[-1] == "5. Term"


def test_the_line_of_a_passage_is_the_one_that_answers(tmp_path: Path) -> None:
    (tmp_path / "lease.md").write_text(
        "# Lease\n\n## 4. Rooms\n\nIt has two rooms.\n\n## 5. Term\n\nIt ends in May.\n"
    )
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add(tmp_path / "lease.md")
        (passage,) = index.search("when it ends").passages
        assert (passage.line, passage.lines) == (9, (1, 9))
        assert "lease.md, line 9" in index.prompt("when it ends").text


def test_a_text_fragment_is_that_of_the_line_that_answers(tmp_path: Path) -> None:
    (tmp_path / "sea.html").write_text(
        "<html><body><p>Whales sing in the seas.</p><p>Seals eat krill in winter.</p></body></html>"
    )
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add(tmp_path / "sea.html")
        (passage,) = index.search("who eats krill").passages
    assert (passage.line, passage.lines) == (None, None)
    assert passage.fragment == "#:~:text=Seals%20eat%20krill%20in%20winter."
