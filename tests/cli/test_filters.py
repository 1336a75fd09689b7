"""Filters of `crx search`: fields, patterns and times, as people write them."""

from __future__ import annotations

import json
import os
import unicodedata
from datetime import datetime, timezone
from pathlib import Path

import pytest
from command_line import Crx, Done

from crx import Document
from crx import open as open_index
from crx._cli.filters import parse_where
from crx.errors import UsageError


@pytest.fixture
def notes(tmp_path: Path, crx: Crx, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An indexed folder of notes from two years, one of them in an old folder, and a mail."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes" / "old").mkdir(parents=True)
    texts = {
        "notes/spring.md": "The dredger budget of spring, which the council of the town passed.",
        "notes/old/autumn.txt": "The dredger budget of autumn, which the council did not pass.",
        "notes/mail.eml": (
            "From: Zofia Nowak <zofia@example.org>\nTo: Ole <ole@example.org>\n"
            "Subject: Dredger\nMessage-ID: <1@example.org>\n\nThe dredger budget of winter.\n"
        ),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    long_ago = datetime(2019, 5, 5, tzinfo=timezone.utc).timestamp()
    os.utime(tmp_path / "notes/old/autumn.txt", (long_ago, long_ago))
    assert crx("index", "notes", "-q", "--embedder", "none").code == 0
    return tmp_path / "notes"


def found(crx: Crx, *options: str) -> set[str]:
    """Return the names of the files that a search finds."""
    lines = crx("search", "dredger budget", "--files-only", *options).out.splitlines()
    return {Path(line).name for line in lines}


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("path=*.md", {"spring.md"}),
        ("path=notes/old", {"autumn.txt"}),
        ("path!=notes/old", {"spring.md", "mail.eml"}),
        ("path!=*.md", {"autumn.txt", "mail.eml"}),
        ("ext=.MD", {"spring.md"}),
        ("ext=*.md,.TXT", {"spring.md", "autumn.txt"}),
        ("lang=english", {"spring.md", "autumn.txt", "mail.eml"}),
        ("lang=french,German", set()),
        ("kind=Prose", {"spring.md", "autumn.txt", "mail.eml"}),
        ("format=md", {"spring.md"}),
        ("type=.MD", {"spring.md"}),
        ("type=mail,txt", {"autumn.txt", "mail.eml"}),
        ("type=pdf", set()),
        ("from=ZOFIA", {"mail.eml"}),
        ("from=nowak", {"mail.eml"}),
        ("from=ole,nowak", {"mail.eml"}),
        ("from!=nowak", {"spring.md", "autumn.txt"}),
        ("author=nowak", {"mail.eml"}),
        ("to=ole@", {"mail.eml"}),
        ("from=[", set()),
        ("modified<2020", {"autumn.txt"}),
        ("modified>=2020-01-01", {"spring.md", "mail.eml"}),
    ],
)
def test_a_condition_means_what_a_person_means_by_it(
    crx: Crx, condition: str, names: set[str]
) -> None:
    assert found(crx, "--where", condition) == names


@pytest.mark.usefixtures("notes")
def test_files_are_found_by_their_age(crx: Crx) -> None:
    assert found(crx, "--since", "2w") == {"spring.md", "mail.eml"}
    assert found(crx, "--before", "1y") == {"autumn.txt"}
    assert found(crx, "--since", "2019", "--before", "2019-05-05") == set()
    assert found(crx, "--since", "2019-05-05T00:00Z", "--before", "2019-06") == {"autumn.txt"}
    assert found(crx, "--since", "999999y", "--before", "2020") == {"autumn.txt"}


@pytest.mark.parametrize("text", ["soon", "30", "d", "2019-5-5", "-3d"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"--since {text}: want a date, such as 2024-05-31"):
        parse_where((), since=text)


@pytest.mark.usefixtures("notes")
def test_a_field_or_value_that_no_document_has_is_told_with_the_right_one(crx: Crx) -> None:
    for condition, told in {
        "mtime>=2024": 'no document has the field "mtime"; did you mean modified?',
        "lang=French": "no document has lang=fr; there are en",
        "type=pdf": "no document meets the filter",
    }.items():
        done = crx("search", "dredger", "--where", condition)
        assert (done.code, done.err) == (1, f"crx: nothing found: {told}\n")


def test_a_name_is_found_in_either_normal_form(
    tmp_path: Path, crx: Crx, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()
    stored = unicodedata.normalize("NFD", "Übersicht.md")
    (tmp_path / "d" / stored).write_text("The dredger budget.", encoding="utf-8")
    crx("index", "d", "-q", "--embedder", "none")
    typed = "d/" + unicodedata.normalize("NFC", stored)
    for form in ("NFC", "NFD"):
        for glob in ("*übersicht.md", "d/[üÜ]*.md", f"{tmp_path}/**/Übersicht.*"):
            written = unicodedata.normalize(form, glob.replace("*ü", "*Ü"))
            assert found(crx, "--where", f"path={written}") == {stored}, written
    assert found(crx, "--where", f"path={typed}") == {stored}
    assert crx("show", typed).code == 0
    assert crx("remove", typed).out == ".crx: 1 document removed\n"


def test_fields_of_the_query_limit_a_search(crx: Crx, indexed: Path) -> None:
    for fields, files in (
        ("path:docs/whales.md", ["docs/whales.md"]),
        ("ext:txt", []),
        ("after:30d", ["docs/bread.md", "docs/whales.md"]),
        ("before:2021", []),
        ("path:*.md", ["docs/bread.md", "docs/whales.md"]),
        ("path:./docs", ["docs/bread.md", "docs/whales.md"]),
        ("path:docs/../docs/w*.md", ["docs/whales.md"]),
    ):
        done = crx("search", "krill steam", *fields.split(), "--files-only")
        assert sorted(done.out.split()) == files, fields
        prompted = json.loads(crx("prompt", f"krill steam {fields}", "--json").out)
        found = [os.path.relpath(each["uri"]) for each in prompted["passages"]]
        assert sorted(found) == files, fields
        assert prompted["question"] == "krill steam"
    refused = crx("search", "krill", "after:soon")
    assert (refused.code, refused.err) == (
        2,
        "crx: after:soon: want a date, such as 2024-05-31, or an age: 30d, 2w, 6mo, 1y\n",
    )
    asked = crx("ask", "what", "is", "krill", "ext:md", "--whole", "--with", "fake:")
    assert asked == Done(2, "", "crx: --whole reads all documents; leave out ext:\n")


def test_a_list_of_thousands_of_senders_is_a_filter(tmp_path: Path) -> None:
    with open_index(tmp_path / "mail.crx", settings={"embedder": "none"}) as index:
        index.add_documents([Document("mail", "solar roof", metadata={"from": "zofia@nowak.pl"})])
        names = [f"person{number}@example.org" for number in range(3000)]
        assert index.search("solar", where={"from": names}).hits == ()
        assert len(index.search("solar", where={"from": [*names, "nowak"]}).hits) == 1
