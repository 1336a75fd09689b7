"""The index end to end, on real files with the embedder that has no weights."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from pdfs import pdf

import crx
from crx.errors import Incompatible, Locked, NotAnIndex, UsageError
from crx.ingest.report import Report
from crx.types import Document

SETTINGS = {"embedder": "hashed", "chunk_chars": 200}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "whales.md").write_text(
        "# Whales\n\nThe blue whale is the largest animal.\n\n"
        "## Food\n\nBlue whales eat krill, four tonnes a day.\n\n"
        "## Song\n\nHumpbacks sing for hours, and the song changes every year.\n"
    )
    (folder / "bread.md").write_text(
        "# Bread\n\nA sourdough starter is flour and water.\n\n"
        "## Baking\n\nBake at 240 degrees with steam for twenty minutes.\n"
    )
    return folder


@pytest.fixture
def index(tmp_path: Path) -> crx.Index:
    return crx.open(tmp_path / "notes.crx", settings=SETTINGS)


def done(report: Report) -> dict[str, int]:
    names = ("added", "changed", "renamed", "removed", "unchanged", "embedded")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def test_a_question_finds_the_passage_and_its_text_is_the_source(
    index: crx.Index, docs: Path
) -> None:
    index.add(docs)
    best = index.search("what do whales eat?")[0]
    source = (docs / "whales.md").read_text()
    assert "krill" in best.text
    assert best.text == source[best.start : best.end]
    assert best.uri == str(docs / "whales.md")


def test_every_hit_says_what_each_leg_gave_it(index: crx.Index, docs: Path) -> None:
    index.add(docs)
    hit = index.search("krill").hits[0]
    assert hit.stages["bm25"].rank == 1
    assert hit.stages["bm25"].score > 0
    assert set(hit.stages) == {"bm25", "dense", "fuse"}


def test_an_unchanged_folder_costs_nothing(index: crx.Index, docs: Path) -> None:
    assert done(index.add(docs))["added"] == 2
    assert done(index.add(docs)) == {"unchanged": 2}


def test_a_file_that_is_replaced_at_equal_size_and_time_is_read(
    index: crx.Index, docs: Path
) -> None:
    file = docs / "whales.md"
    index.add(docs)
    stat = file.stat()
    other = docs.parent / "other.md"
    other.write_text(file.read_text().replace("krill", "squid"))
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(file)
    assert file.stat().st_size == stat.st_size
    assert done(index.refresh())["changed"] == 1
    assert "squid" in index.search("what do whales eat?")[0].text
    assert done(index.refresh()) == {"unchanged": 2}


@pytest.mark.parametrize("moved", ["docs", "docs/deep", "docs/deep/deeper"])
def test_a_file_whose_folder_is_replaced_at_equal_size_and_time_is_read(
    index: crx.Index, tmp_path: Path, moved: str
) -> None:
    folder = tmp_path / "docs" / "deep" / "deeper"
    folder.mkdir(parents=True)
    (folder / "whales.md").write_text("Whales eat krill.")
    (tmp_path / "docs" / "bread.md").write_text("Bread is made of flour.")
    os.utime(folder / "whales.md", (1, 1))
    # As a deployment does: the new files were written before the old ones were indexed.
    shutil.copytree(tmp_path / moved, tmp_path / "new")
    (file,) = (tmp_path / "new").rglob("whales.md")
    file.write_text("Whales eat squid.")
    os.utime(file, (1, 1))
    (tmp_path / "docs" / "last.md").write_text("The newest file.")
    index.add(tmp_path / "docs")
    (tmp_path / moved).rename(tmp_path / "old")
    (tmp_path / "new").rename(tmp_path / moved)
    report = done(index.refresh())
    assert report["changed"] == 1
    assert "squid" in index.search("what do whales eat?")[0].text
    unchanged = done(index.refresh())
    assert set(unchanged) == {"unchanged"}


def test_a_file_that_is_named_as_a_record_is_indexed_in_its_place(
    index: crx.Index, docs: Path
) -> None:
    records = docs / "a.jsonl"
    records.write_text('{"id": "note.md", "text": "Salt."}\n{"id": "two", "text": "Yeast."}\n')
    index.add(docs)
    namesake = docs / "a.jsonl#note.md"
    namesake.write_text("Pepper.\n")
    records.write_text(records.read_text() + "\n")
    (failure,) = index.refresh().failures
    assert failure.uri == str(records)
    assert failure.reason.startswith(f"has a document named as the file {namesake} is")
    for _ in range(3):
        assert index.search("pepper")[0].text.strip() == "Pepper."
        assert index.search("pepper")[0].uri == str(namesake)
        assert index.refresh().failed_before == 1
    namesake.unlink()
    assert not index.refresh().failures
    assert index.search("salt")[0].text == "Salt."
    assert index.search("salt")[0].uri == str(namesake)


def test_a_touched_file_is_read_and_found_unchanged(index: crx.Index, docs: Path) -> None:
    index.add(docs)
    os.utime(docs / "bread.md", (1, 1))
    assert done(index.add(docs)) == {"unchanged": 2}


def test_an_edit_embeds_the_changed_chunk_alone(index: crx.Index, docs: Path) -> None:
    index.add(docs)
    path = docs / "whales.md"
    path.write_text(path.read_text().replace("four tonnes", "several tonnes"))
    assert done(index.add(docs)) == {"changed": 1, "unchanged": 1, "embedded": 1}
    assert "several tonnes" in index.search("how much krill a day")[0].text


def test_passages_fit_the_budget_and_hits_without_one_are_said(
    index: crx.Index, docs: Path
) -> None:
    index.add(docs)
    roomy, tight = (index.search("krill and bread", budget_tokens=n) for n in (4000, 15))
    assert len(roomy.hits) == sum(len(passage.hits) for passage in roomy)
    assert len(tight) == 1
    assert tight.hits == roomy.hits
    assert tight[0].hits[0] == tight.hits[0]
    over = len(tight.hits) - len(tight[0].hits)
    assert tight.notes == (
        f"{over} of {len(tight.hits)} hits are left out: they would be over 15 tokens; "
        "budget_tokens=150 shows more",
    )


def test_a_budget_bounds_auto_alone(index: crx.Index, docs: Path) -> None:
    index.add(docs)
    with pytest.raises(ValueError, match='budget_tokens needs window="auto", not window=2'):
        index.search("krill", window=2, budget_tokens=100)
    grown = index.search("krill", window="grow").passages
    assert all(passage.hits for passage in grown)


def test_a_renamed_file_costs_nothing_and_is_found_under_its_new_name(
    index: crx.Index, docs: Path
) -> None:
    index.add(docs)
    (docs / "whales.md").rename(docs / "cetacea.md")
    assert done(index.add(docs)) == {"renamed": 1, "unchanged": 1}
    assert index.search("krill")[0].uri == str(docs / "cetacea.md")
    assert index.search("krill", where={"path": str(docs / "cetacea.md")}).passages


def test_a_renamed_file_that_has_its_name_as_title_gets_the_new_one(
    index: crx.Index, docs: Path
) -> None:
    (docs / "whale song.pdf").write_bytes(pdf([["they hum"]]))
    index.add(docs)
    (docs / "whale song.pdf").rename(docs / "barn dance.pdf")
    assert done(index.add(docs)) == {"renamed": 1, "embedded": 1, "unchanged": 2}
    titles = {document.title for document in index.store.documents()}
    assert "barn dance" in titles
    assert "whale song" not in titles


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("Tax return 2031.txt", "tax return 2031"),
        ("TaxReturn2031.txt", "return 2031"),
        ("lease/Barn_Quayside.md", "quayside"),
        ("lease/barn.md", "lease"),
        ("pier-manual.html", "pier manual"),
    ],
)
def test_prose_is_found_by_the_name_of_its_file_and_folder(
    index: crx.Index, docs: Path, path: str, query: str
) -> None:
    (docs / path).parent.mkdir(exist_ok=True)
    (docs / path).write_text("<p>Words that say nothing of it.")
    index.add(docs)
    assert index.search(query)[0].uri == str(docs / path)


def test_a_moved_note_is_found_by_its_new_folder_and_not_by_the_old(
    index: crx.Index, docs: Path
) -> None:
    (docs / "lease").mkdir()
    (docs / "lease" / "whales.md").write_text("# Whales\n\nThey hum.")
    index.add(docs)
    (docs / "lease").rename(docs / "quayside")
    assert done(index.add(docs)) == {"renamed": 1, "unchanged": 2}
    assert index.search("quayside")[0].uri == str(docs / "quayside" / "whales.md")
    assert "no document has these words" in str(index.search("lease").notes)


def test_a_source_file_is_found_by_its_name_also_after_a_renaming(
    index: crx.Index, docs: Path
) -> None:
    (docs / "lovins.py").write_text("def stem(word):\n    return word\n")
    index.add(docs)
    assert index.search("lovins")[0].uri == str(docs / "lovins.py")
    (docs / "lovins.py").rename(docs / "porter.py")
    assert done(index.add(docs)) == {"renamed": 1, "unchanged": 2}
    assert index.search("porter")[0].uri == str(docs / "porter.py")


def test_a_filter_on_paths_is_a_glob(index: crx.Index, docs: Path) -> None:
    index.add(docs)
    assert index.search("krill", where={"path": str(docs / "**")}).passages
    assert not index.search("krill", where={"path": str(docs / "*.txt")}).passages


def test_a_deleted_file_leaves(index: crx.Index, docs: Path) -> None:
    index.add(docs)
    (docs / "whales.md").unlink()
    assert done(index.add(docs)) == {"removed": 1, "unchanged": 1}
    assert all("bread" in hit.uri for hit in index.search("krill").hits)


def test_a_file_that_cannot_be_read_is_named_and_the_rest_goes_in(
    index: crx.Index, docs: Path
) -> None:
    (docs / "noise.txt").write_bytes(bytes(range(256)) * 20)
    report = index.add(docs)
    assert [Path(f.uri).name for f in report.failures] == ["noise.txt"]
    assert report.added == 2
    assert len(index.status().failures) == 1


def test_a_file_over_the_limit_is_named_and_keeps_what_was_there(
    tmp_path: Path, docs: Path
) -> None:
    place = tmp_path / "small.crx"
    with crx.open(place, settings=SETTINGS) as index:
        index.add(docs)
    (docs / "whales.md").write_text("krill " * 400_000)
    with crx.open(place, settings={**SETTINGS, "max_file_mb": 2}) as index:
        (failure,) = index.add(docs).failures
        assert failure.reason == (
            "2 MB, more than max_file_mb = 2; --set max_file_mb=3 reads it; "
            "the text of an earlier run is kept"
        )
        assert "four tonnes" in index.search("what do whales eat?")[0].text


def test_removing_a_document_by_uri(index: crx.Index, docs: Path) -> None:
    index.add(docs)
    assert index.remove(str(docs / "whales.md"), "nothing") == 1
    assert index.status().counts["documents"] == 1


def test_documents_that_are_no_files(index: crx.Index) -> None:
    text = "First part. Second part."
    document = Document("mem:1", text, title="Note", chunks=((0, 11), (12, 24)))
    index.add_documents([document])
    hits = index.search("second", window=0).hits
    assert [hit.text for hit in hits] == ["Second part.", "First part."]


def test_a_filter_is_applied_before_the_cut(index: crx.Index) -> None:
    index.add_documents(
        Document(f"mem:{n}", "the same words everywhere", metadata={"n": n}) for n in range(30)
    )
    found = index.search("same words", k=3, where={"n": {">=": 27}}).hits
    assert {hit.uri for hit in found} == {"mem:27", "mem:28", "mem:29"}


def test_the_index_reopens_as_it_was(tmp_path: Path, index: crx.Index, docs: Path) -> None:
    index.add(docs)
    before = [hit.key for hit in index.search("whale song").hits]
    index.close()
    with crx.open(tmp_path / "notes.crx") as again:
        assert [hit.key for hit in again.search("whale song").hits] == before


def test_derived_files_are_made_anew_from_the_truth(
    tmp_path: Path, index: crx.Index, docs: Path
) -> None:
    import shutil

    index.add(docs)
    before = [(hit.key, hit.score) for hit in index.search("whale song").hits]
    index.close()
    shutil.rmtree(tmp_path / "notes.crx" / "derived")
    with crx.open(tmp_path / "notes.crx") as again:
        assert [(hit.key, hit.score) for hit in again.search("whale song").hits] == before


def test_another_embedder_is_refused_by_name(tmp_path: Path, index: crx.Index) -> None:
    index.close()
    with pytest.raises(Incompatible, match="built with embedder = hashed, not minilm; "):
        crx.open(tmp_path / "notes.crx", settings={"embedder": "minilm"})


def test_a_second_writer_is_told_who_is_first(tmp_path: Path, index: crx.Index, docs: Path) -> None:
    from crx import _native

    writer = _native.Store.open(str(tmp_path / "notes.crx"), write=True)
    with pytest.raises(Locked, match=str(os.getpid())):
        index.add(docs)
    writer.close()
    assert index.add(docs).added == 2


def test_a_missing_path_is_a_usage_error(index: crx.Index, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        index.add(tmp_path / "nowhere")


def test_a_folder_that_is_no_index_is_refused(docs: Path) -> None:
    with pytest.raises(NotAnIndex):
        crx.open(docs, create=False)


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_query_is_refused(index: crx.Index, query: str) -> None:
    with pytest.raises(ValueError, match="the query is empty"):
        index.search(query)


def test_k_below_one_is_refused(index: crx.Index) -> None:
    with pytest.raises(ValueError, match="k must be at least 1"):
        index.search("x", k=0)


def test_an_empty_index_answers_nothing(index: crx.Index) -> None:
    assert len(index.search("anything")) == 0


def test_vectors_that_a_killed_run_owes_are_made_by_the_next(
    index: crx.Index, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(index.embedder), "embed", die)
    with pytest.raises(KeyboardInterrupt):
        index.add(docs)
    monkeypatch.undo()
    owed = index.status().counts["pending"]
    assert owed > 0
    assert done(index.add(docs)) == {"unchanged": 2, "embedded": owed}
    assert index.status().counts["pending"] == 0


def test_a_run_without_paths_goes_on_where_the_first_was_interrupted(
    index: crx.Index, docs: Path
) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.add(docs, on_progress=interrupt)
    assert index.roots == (str(docs),)
    assert index.refresh().added == 2


def test_what_holds_no_text_is_skipped_in_a_folder_and_fails_where_it_is_named(
    index: crx.Index, docs: Path
) -> None:
    (docs / "whale.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\r" + bytes(range(256)))
    (docs / "__init__.py").write_bytes(b"")
    report = index.add(docs)
    assert (report.added, report.skipped, report.failures) == (2, 2, ())
    named = index.add(docs / "whale.png", docs / "__init__.py").failures
    assert [failure.reason for failure in named] == ["is a picture (PNG)", "is empty"]


def test_a_document_whose_file_lost_its_text_leaves(index: crx.Index, docs: Path) -> None:
    index.add(docs)
    (docs / "whales.md").write_text("")
    assert done(index.add(docs)) == {"unchanged": 1}
    assert all("bread" in hit.uri for hit in index.search("krill").hits)


def test_the_failure_of_a_file_that_has_gone_is_forgotten(index: crx.Index, docs: Path) -> None:
    (docs / "noise.txt").write_bytes(bytes(range(256)) * 20)
    index.add(docs)
    (docs / "noise.txt").unlink()
    index.add(docs)
    assert index.status().failures == ()


def test_paths_are_added_as_arguments_and_as_sequences(index: crx.Index, docs: Path) -> None:
    report = index.add([docs / "whales.md"], str(docs / "bread.md"))
    assert done(report)["added"] == 2
    assert done(index.add(path for path in docs.iterdir()))["unchanged"] == 2


@pytest.mark.parametrize(("given", "kind"), [(7, "int"), ([7], "int"), (b"docs", "bytes")])
def test_what_is_no_path_is_a_type_error(index: crx.Index, given: object, kind: str) -> None:
    with pytest.raises(TypeError, match=f"add takes paths, not {kind}"):
        index.add(given)  # type: ignore[arg-type]


def test_a_closed_handle_answers_nothing_more(index: crx.Index, docs: Path) -> None:
    index.add(docs)
    index.close()
    closed = "this handle was closed; open the index again"
    for ask in (
        lambda: index.search("whales"),
        index.status,
        lambda: index.add(docs),
        lambda: index.store,
    ):
        with pytest.raises(UsageError, match=closed):
            ask()
    index.close()


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (crx.Document("a:1", "\ud800bad"), ValueError, "a:1: text has a lone surrogate at 0"),
        (crx.Document("a:\udcff", "bad"), ValueError, r"a:\\udcff: uri has a lone surrogate at 2"),
        (
            crx.Document("a:1", "bad", metadata={"d": object()}),  # type: ignore[dict-item]
            ValueError,
            "a:1: metadata 'd' is",
        ),
        (crx.Document("a:1", b"bad"), TypeError, "a:1: text must be a str, not bytes"),  # type: ignore[arg-type]
    ],
)
def test_a_document_that_cannot_be_stored_is_named_with_its_field(
    index: crx.Index, given: crx.Document, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message) as raised:
        index.add_documents([given])
    assert type(raised.value) is kind
    assert index.store.stats()["documents"] == 0


def test_a_list_in_place_of_arguments_is_a_type_error_that_says_so(index: crx.Index) -> None:
    with pytest.raises(TypeError, match="remove takes URIs, each as an argument, not list"):
        index.remove(["mem:1"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a document must be a crx\.Document, not str"):
        index.add_documents("docs")  # type: ignore[arg-type]
