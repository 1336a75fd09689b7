"""Questions from the structure of documents: what they ask, and what is hidden for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from crx.ingest.read import read_file
from crx.types import Document
from crx_evaluate import read_set
from crx_evaluate.datasets import write_set
from crx_evaluate.structure import StructureSet, make_questions

GUIDE = """# Boats

## Rigging the mast

Pull the halyard until the sail stands, and belay it there.

## Mooring at night

Show a white light and leave enough chain for the tide to turn.

Rigging the mast
"""
PAGE = """<title>Sails</title><h1>Sails</h1><p>Those who sew read <a href="b.html#x">how cloth is
cut</a> first.</p><dl><dt><code>--reef</code>, <code>-r</code></dt><dd><p>Shorten the sail by one
row of points.</p><p>More.</p></dd><dt>jib(area)</dt><dd>The sail before the mast, of any area.</dd>
</dl><table><caption>Table 2. Cloth by weight</caption><tr><td>light weather</td><td>110
grams</td></tr></table>"""
OTHER = "<title>Cloth</title><p>Lay the panels out along the weft and mark the seams in pencil.</p>"
MAN = """.TH HOIST 1
.SH NAME
hoist \\- raise a sail
.SH OPTIONS
.TP
.BR \\-f ", " \\-\\-fast
Raise it within ten seconds, without a winch.
"""
MAIL = (
    "From: a@example.org\nTo: b@example.org\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n"
    "Subject: {}Winter storage of hulls\n\n{}\n"
)


def read(folder: Path, **files: str) -> list[Document]:
    """Write files, whose dots are `__` in their names, and return their documents."""
    documents: list[Document] = []
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.write_text(text, encoding="utf-8")
        documents += read_file(path)
    return documents


def questions(made: StructureSet) -> dict[tuple[str, str], tuple[str, bool]]:
    """Return the first answer of each question and whether it is exact, by kind and words."""
    texts = {document.uri: document.text for document in made.documents}
    found: dict[tuple[str, str], tuple[str, bool]] = {}
    for each in made.questions:
        span = each.query.gold[0].any[0]
        answer = texts[span.doc_id][span.start : span.end]
        found[each.kind, each.query.text] = (answer, each.exact)
    return found


def test_a_heading_asks_for_its_section_and_is_hidden(tmp_path: Path) -> None:
    made = make_questions(read(tmp_path, guide__md=GUIDE), count=9)
    assert questions(made) == {
        ("heading", "Rigging the mast"): (
            "Pull the halyard until the sail stands, and belay it there.",
            False,
        ),
        ("heading", "Mooring at night"): (
            "Show a white light and leave enough chain for the tide to turn.",
            False,
        ),
    }
    (document,) = made.documents
    assert "Rigging" not in document.text
    assert [mark.label for mark in document.marks] == ["Boats"]


def test_a_page_gives_a_link_an_option_a_term_and_a_caption(tmp_path: Path) -> None:
    made = make_questions(read(tmp_path, a__html=PAGE, b__html=OTHER), count=9)
    assert questions(made) == {
        ("link", "how cloth is cut"): (
            "Lay the panels out along the weft and mark the seams in pencil.",
            False,
        ),
        ("option", "--reef"): ("Shorten the sail by one row of points.", True),
        ("term", "jib"): ("The sail before the mast, of any area.", True),
        ("caption", "Cloth by weight"): ("light weather\t110 grams", False),
    }
    text = made.documents[0].text
    assert "how cloth is cut" not in text
    assert "Cloth by weight" not in text
    assert "--reef" in text


def test_an_option_of_several_man_pages_is_asked_for_with_their_names(tmp_path: Path) -> None:
    lower = MAN.replace("HOIST", "LOWER").replace("Raise it", "Lower it")
    made = make_questions(read(tmp_path, hoist__1=MAN, lower__1=lower), count=9)
    assert questions(made) == {
        ("option", "hoist --fast"): ("Raise it within ten seconds, without a winch.", True),
        ("option", "lower --fast"): ("Lower it within ten seconds, without a winch.", True),
    }


def test_the_text_of_links_to_several_pages_asks_for_none(tmp_path: Path) -> None:
    both = '<p><a href="a.html">read more of it</a> <a href="b.html">read more of it</a></p>'
    documents = read(tmp_path, a__html="<p>One page.</p>", b__html="<p>Two.</p>", c__html=both)
    assert make_questions(documents, count=9).questions == ()


def test_a_subject_asks_for_any_mail_of_its_thread_and_is_hidden_in_all(tmp_path: Path) -> None:
    one = MAIL.format("", "Where do we put the hulls when it freezes?")
    reply = MAIL.format("Re: ", "In the barn, upside down and on trestles.")
    made = make_questions(read(tmp_path, one__eml=one, two__eml=reply), count=9)
    (question,) = made.questions
    texts = {document.uri: document.text for document in made.documents}
    assert {texts[span.doc_id][span.start : span.end] for span in question.query.gold[0].any} == {
        "Where do we put the hulls when it freezes?",
        "In the barn, upside down and on trestles.",
    }
    assert (question.kind, question.query.text) == ("subject", "Winter storage of hulls")
    assert not any("Winter" in document.text + document.title for document in made.documents)


def test_a_commit_asks_for_the_files_it_changed(tmp_path: Path) -> None:
    documents = read(
        tmp_path,
        keel__txt="The keel is bolted from below with twelve bolts.",
        rudder__txt="The rudder hangs on two pintles and lifts out.",
    )

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", tmp_path, *identity, *arguments], check=True)

    git("init", "-q")
    for file, message in (("keel.txt", "drop the ballast"), ("rudder.txt", "steer by hand")):
        git("add", file)
        git("commit", "-q", "-m", message)
    assert questions(make_questions(documents, count=9)) == {
        ("commit", "drop the ballast"): (documents[0].text, False),
        ("commit", "steer by hand"): (documents[1].text, False),
    }


def test_the_same_documents_give_the_same_questions(tmp_path: Path) -> None:
    documents = read(tmp_path, a__html=PAGE, b__html=OTHER, guide__md=GUIDE)
    one, other = (make_questions(each, count=3).questions for each in (documents, documents[::-1]))
    assert one == other
    assert len(one) == 3


def test_a_page_whose_file_has_gone_is_noted(tmp_path: Path) -> None:
    documents = read(tmp_path, a__html=PAGE, b__html=OTHER)
    (tmp_path / "a.html").unlink()
    made = make_questions(documents, count=9)
    gone = f"{tmp_path}/a.html: no such file or directory"
    assert made.questions == ()
    assert made.notes == (f"pages whose links and lists are not read: 1; {gone}",)


def test_the_written_set_is_read_with_the_marks_of_its_documents(tmp_path: Path) -> None:
    made = make_questions(read(tmp_path, guide__md=GUIDE), count=9)
    write_set(tmp_path / "set", made.documents, [each.row for each in made.questions])
    again = read_set(tmp_path / "set")
    assert again.documents == made.documents
    assert [(query.text, query.kind) for query in again.queries] == [
        (each.query.text, each.kind) for each in made.questions
    ]
