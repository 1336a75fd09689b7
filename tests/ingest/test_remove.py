"""`crx remove`, and `crx index` without a path."""

from __future__ import annotations

import re
import shlex
import shutil

import pytest
from crx_process import CrxHere, Finished

from crx.labels import count_label


@pytest.fixture
def crx(crx_here: CrxHere) -> CrxHere:
    """Return a command in a folder with an index of five documents in two roots."""
    crx = crx_here
    for name in ("docs/a.md", "docs/b.txt", "docs/sub/c.md", "notes/d.md"):
        (crx.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (crx.folder / name).write_text(f"# {name}\n\nKrill.\n")
    (crx.folder / "notes" / "e.jsonl").write_text('{"id": "x", "text": "Salt."}\n')
    assert crx("index", "-q", "docs", "notes").out.startswith(".crx: 5 files added")
    return crx


def documents(crx: CrxHere) -> list[str]:
    return crx("status", "--documents").out.split()


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("docs/a.md", ["docs/b.txt", "docs/sub/c.md", "notes/d.md", "notes/e.jsonl#x"]),
        ("docs", ["notes/d.md", "notes/e.jsonl#x"]),
        ("docs/", ["notes/d.md", "notes/e.jsonl#x"]),
        ("docs/*.md", ["docs/b.txt", "docs/sub/c.md", "notes/d.md", "notes/e.jsonl#x"]),
        ("**/*.md", ["docs/b.txt", "notes/e.jsonl#x"]),
        ("notes/e.jsonl#x", ["docs/a.md", "docs/b.txt", "docs/sub/c.md", "notes/d.md"]),
        ("notes/e.jsonl", ["docs/a.md", "docs/b.txt", "docs/sub/c.md", "notes/d.md"]),
        (".", []),
    ],
)
def test_documents_are_removed_by_uri_folder_or_glob(
    crx: CrxHere, name: str, left: list[str]
) -> None:
    done = crx("remove", name)
    removed = count_label(5 - len(left), "document")
    assert (done.code, done.out) == (0, f".crx: {removed} removed\n"), done.err
    assert documents(crx) == left
    assert crx("search", "krill", "--where", "path=docs/a.md").code == int("docs/a.md" not in left)


def test_a_folder_that_is_deleted_can_be_removed(crx: CrxHere) -> None:
    shutil.rmtree(crx.folder / "docs")
    failed = crx("index", "docs")
    assert failed.code == 2
    assert '"crx remove docs" removes what the index has of it' in failed.err
    assert crx("remove", "docs") == Finished(0, ".crx: 3 documents removed\n", "")
    assert crx("index", "-q").out == ".crx: 2 files unchanged\n"
    assert crx("status").err == ""


def test_a_missing_path_is_not_in_an_index_that_is_not_there(crx: CrxHere) -> None:
    failed = crx("index", "gone", "--index", "new.crx")
    assert failed == Finished(2, "", "crx: gone: no such file or folder; nothing was indexed\n")


def test_what_is_not_in_the_index_exits_1(crx: CrxHere) -> None:
    assert crx("remove", "gone.md") == Finished(
        1,
        ".crx: 0 documents removed\n",
        'crx: gone.md: nothing in the index; "crx status --documents" lists what is\n',
    )


def test_what_was_removed_stays_away_until_it_is_indexed_again(crx: CrxHere) -> None:
    done = crx("remove", "docs/sub")
    assert done.out == ".crx: 1 document removed\n"
    assert done.err == ('crx: docs/sub: left out from now on; "crx index docs/sub" takes it back\n')
    for again in ([], ["docs"]):
        crx("index", "-q", *again)
        assert "docs/sub/c.md" not in documents(crx)
    assert "from docs without /sub" in crx("status").out
    crx("index", "-q", "docs/sub")
    crx("index", "-q")
    assert "docs/sub/c.md" in documents(crx)


def test_a_name_that_begins_with_a_dash_is_taken_back_as_it_is_told(crx: CrxHere) -> None:
    (crx.folder / "docs" / "a.md").rename(crx.folder / "-k.md")
    crx("index", "-q", ".")
    told = crx("remove", "--", "-k.md").err
    found = re.search(r'"crx (index .*)" takes it back', told)
    assert found, told
    assert "-k.md" not in documents(crx)
    assert crx(*shlex.split(found[1]), "-q").code == 0
    assert "-k.md" in documents(crx)


def test_a_glob_and_a_name_with_wildcards_stay_away_and_nothing_else(crx: CrxHere) -> None:
    (crx.folder / "docs" / "x[1].md").write_text("# X\n\nPlankton.\n")
    (crx.folder / "docs" / "x1.md").write_text("# X1\n\nPlankton nets.\n")
    crx("index", "-q")
    crx("remove", "docs/x[1].md")
    crx("remove", "docs/*.txt")
    crx("index", "-q")
    assert documents(crx)[:3] == ["docs/a.md", "docs/sub/c.md", "docs/x1.md"]


@pytest.mark.parametrize(
    ("names", "printed"),
    [
        (["docs/*.txt"], "crx index docs --exclude ''"),
        (["docs/*.txt", "docs/sub/*"], "crx index docs --exclude '/*.txt'"),
        (["docs/my file.md"], "crx index 'docs/my file.md'"),
        (["docs/x[1].md"], "crx index 'docs/x[1].md'"),
    ],
)
def test_the_step_that_is_printed_takes_back_what_was_removed_last(
    crx: CrxHere, names: list[str], printed: str
) -> None:
    for name in ("my file.md", "x[1].md"):
        (crx.folder / "docs" / name).write_text("# Mine\n\nPlankton.\n")
    for index in ([], ["--index", "other.crx"]):
        crx("index", "-q", "docs", *index)
        before = crx("status", "--documents", *index).out
        for name in names[:-1]:
            crx("remove", name, *index)
        kept = crx("status", "--documents", *index).out
        done = crx("remove", names[-1], *index)
        assert crx("status", "--documents", *index).out != kept
        step = re.findall(r'"(.*?)" takes it back', done.err)[0]
        assert step == printed.replace("crx index", " ".join(["crx index", *index]))
        crx(*shlex.split(step)[1:], "-q")
        assert crx("status", "--documents", *index).out == kept
        assert (before == kept) is (len(names) == 1)


def test_index_without_a_path_refreshes_what_was_indexed(crx: CrxHere) -> None:
    (crx.folder / "docs" / "a.md").unlink()
    (crx.folder / "notes" / "f.md").write_text("# New\n\nPlankton.\n")
    (crx.folder / "other.md").write_text("# Other\n")
    done = crx("index", "-q")
    assert done.out.startswith(".crx: 1 file added, 1 removed, 4 unchanged")
    assert "other.md" not in documents(crx)


def test_excludes_are_remembered(crx: CrxHere) -> None:
    crx("index", "-q", "docs", "--exclude", "*.txt", "--exclude", "sub/")
    assert documents(crx) == ["docs/a.md", "notes/d.md", "notes/e.jsonl#x"]
    for again in ([], ["docs"]):
        assert crx("index", "-q", *again).code == 0
        assert documents(crx) == ["docs/a.md", "notes/d.md", "notes/e.jsonl#x"]
    crx("index", "-q", "docs", "--exclude", "")
    assert documents(crx)[:3] == ["docs/a.md", "docs/b.txt", "docs/sub/c.md"]


def test_a_root_inside_another_keeps_what_the_outer_one_excludes(crx: CrxHere) -> None:
    crx("index", "-q", "docs", "--exclude", "sub/")
    crx("index", "-q", "docs/sub")
    for again in (["docs"], []):
        crx("index", "-q", *again)
        assert "docs/sub/c.md" in documents(crx)


def test_a_root_that_is_gone_keeps_its_documents_until_they_are_removed(crx: CrxHere) -> None:
    shutil.rmtree(crx.folder / "notes")
    done = crx("index", "-q")
    assert (done.code, done.out) == (3, ".crx: 2 files kept, 3 unchanged, 1 failed\n")
    assert done.err.startswith(
        "crx: notes: no such file or directory; the text of 2 files below it is "
    )
    assert crx("remove", "notes").code == 0
    assert crx("index", "-q").code == 0


def test_index_without_a_path_or_an_index_is_a_usage_error(crx_here: CrxHere) -> None:
    crx = crx_here
    done = crx("index")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert not (crx.folder / ".crx").exists()
