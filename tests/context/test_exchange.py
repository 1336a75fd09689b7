"""Export and import of contexts: matching records are linked, the others are reported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import crx
from crx._cli import run
from crx._context.records import Record, hash_of, read_contexts, write_contexts
from crx._index.handle import Index
from crx.types import Document
from crx_evaluate import Options, read_set
from crx_evaluate import run as evaluate
from crx_evaluate.ablate import add_other_spans, apply_file_spans
from crx_evaluate.query_runner import QueryRunner, run_queries
from crx_evaluate.timed_models import QueryVectors

SETTINGS = {"embedder": "hashed", "chunk_chars": 120}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    for name in ("heron", "egret"):
        lines = (f"In year {n} the {name} colony counted {n * 37} nests.\n\n" for n in range(12))
        (folder / f"{name}.md").write_text(f"# {name.title()} survey\n\n" + "".join(lines))
    return folder


def indexed(folder: Path) -> Index:
    index = crx.open(folder.parent / f"{folder.name}.crx", settings=SETTINGS)
    index.add(folder)
    return index


def contexts(index: Index) -> list[tuple[str, int, str]]:
    store = index.store
    return [
        (Path(row.uri).name, row.start, row.context)
        for document in store.documents()
        for row in store.chunks(store.chunk_keys(document.doc))
    ]


def test_contexts_are_imported_for_a_copy_of_the_documents(tmp_path: Path, docs: Path) -> None:
    first = indexed(docs)
    made = first.contextualize("fake:")
    assert first.export_contexts(tmp_path / "contexts.jsonl", root=docs) == made.chunks
    shutil.copytree(docs, tmp_path / "there")
    second = indexed(tmp_path / "there")
    imported = second.import_contexts(tmp_path / "contexts.jsonl", root=tmp_path / "there")
    assert (imported.linked, imported.whole) == (made.chunks, True)
    assert contexts(second) == contexts(first)
    assert second.status().counts["pending"] == 0
    assert second.search("colony", legs=["bm25"]).hits[0].context.startswith(("Heron", "Egret"))


def test_a_context_keeps_its_generator(tmp_path: Path, docs: Path) -> None:
    first = indexed(docs)
    first.contextualize("fake:")
    first.export_contexts(tmp_path / "once.jsonl")
    first.import_contexts(tmp_path / "once.jsonl")
    first.export_contexts(tmp_path / "twice.jsonl")
    assert read_contexts(tmp_path / "twice.jsonl") == read_contexts(tmp_path / "once.jsonl")
    assert read_contexts(tmp_path / "once.jsonl")[0].generator.startswith("fake:")


def test_spans_that_do_not_match_are_reported_and_the_rest_is_imported(
    tmp_path: Path, docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = indexed(docs)
    row = index.store.chunks(index.store.chunk_keys(index.store.documents()[0].doc))[1]
    lines = [
        {"path": "egret.md", "start": row.start, "end": row.end, "context": "Of egrets."},
        {"path": "egret.md", "start": row.start, "end": row.end + 1, "context": "Of what?"},
        {"path": "gone.md", "start": 0, "end": 9, "context": "Of nothing."},
    ]
    file = tmp_path / "contexts.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    place = ["--index", str(tmp_path / "here.crx"), "--root", str(docs)]
    assert run(["import", str(file), *place]) == 3
    output = capsys.readouterr()
    unchecked = "1 of them unchecked: the file has no hash of their text"
    assert output.out == f"{file}: 1 contexts imported, {unchecked}\n"
    assert f"egret.md: no chunk is {row.start}..{row.end + 1}" in output.err
    assert "gone.md: not in the index" in output.err
    assert [text for _, _, text in contexts(index) if text] == ["Of egrets."]


def test_an_edit_that_keeps_the_offsets_is_detected(
    tmp_path: Path, docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, path = tmp_path / "contexts.jsonl", docs / "heron.md"
    first = indexed(docs)
    whole = first.contextualize("fake:").chunks
    first.export_contexts(file, root=docs)
    path.write_text(path.read_text().replace("counted 37 nests", "counted 73 nests"))
    other = crx.open(tmp_path / "other.crx", settings=SETTINGS)
    other.add(docs)
    imported = other.import_contexts(file, root=docs)
    (edited,) = imported.differing
    assert (imported.linked, imported.unchecked, imported.whole) == (whole - 1, 0, False)
    place = ["--index", str(tmp_path / "other.crx"), "--root", str(docs)]
    assert run(["import", str(file), *place]) == 3
    assert f"the text at {edited.start}..{edited.end} has changed" in capsys.readouterr().err


def test_contexts_given_to_a_build_are_checked_by_their_hash(tmp_path: Path) -> None:
    file = tmp_path / "contexts.jsonl"
    write_contexts(file, [Record("a", 0, 4, "Of herons.", sha256=hash_of("nest"))])
    index = crx.open(tmp_path / "notes.crx", settings=SETTINGS)
    for text, context in (("nest", "Of herons."), ("tree", "")):
        index.add_documents([crx.Document("a", text, chunks=((0, 4),))], contexts=str(file))
        assert contexts(index) == [("a", 0, context)]


def test_an_exported_file_fits_a_build_of_the_same_documents(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = docs / "corpus.jsonl"
    corpus.write_text(
        json.dumps({"id": "d1", "text": "The heron nests here.", "chunks": [[0, 21]]})
    )
    monkeypatch.chdir(tmp_path)
    first = indexed(docs)
    made = first.contextualize("fake:")
    first.export_contexts("contexts.jsonl")
    second = crx.open("second.crx", settings=SETTINGS)
    assert second.add("here", contexts="contexts.jsonl").contexts == {"ok": made.chunks}
    assert contexts(second) == contexts(first)


def test_an_ambiguous_id_belongs_to_the_first_document(tmp_path: Path) -> None:
    file = tmp_path / "contexts.jsonl"
    write_contexts(file, [Record("d1", 0, 4, "Of herons.")])
    index = crx.open(tmp_path / "notes.crx", settings=SETTINGS)
    documents = [crx.Document(f"{name}.jsonl#d1", "nest", chunks=((0, 4),)) for name in "ab"]
    report = index.add_documents(documents, contexts=str(file))
    assert report.contexts == {"ok": 1, "failed:span not in the file": 1}


@pytest.mark.parametrize("command", [("index", "here", "--contexts"), ("contextualize", "--with")])
def test_chunks_without_a_context_in_the_file_are_counted(
    tmp_path: Path,
    docs: Path,
    command: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    index = indexed(docs)
    whole = index.contextualize("fake:").chunks
    index.export_contexts("contexts.jsonl", root=docs)
    crx.open("i.crx", settings=SETTINGS).add(*[docs] * (command[0] == "contextualize"))
    capsys.readouterr()
    assert run([*command, "contexts.jsonl", "--index", "i.crx"]) == 3
    assert capsys.readouterr().err == (
        f"crx: {whole} chunks have no context from contexts.jsonl: span not in the file ({whole}); "
        f'"crx import contexts.jsonl --root DIR" names what does not fit\n'
    )


def test_a_corrected_file_replaces_an_earlier_import(tmp_path: Path, docs: Path) -> None:
    index = indexed(docs)
    uri = index.store.documents()[0].uri
    span = index.store.layout(index.store.documents()[0].doc)[0, :2].tolist()
    for text in ("Of herons.", "Of egrets."):
        file = tmp_path / "contexts.jsonl"
        file.write_text(json.dumps({"path": uri, "start": 0, "end": span[1], "context": text}))
        index.import_contexts(file)
        assert [context for _, _, context in contexts(index) if context] == [text]


def test_an_edit_keeps_imported_contexts_of_unchanged_sections(tmp_path: Path, docs: Path) -> None:
    path = docs / "egret.md"
    more = "".join(f"In week {n} no egret visited the ringing station.\n\n" for n in range(60))
    path.write_text(path.read_text() + more)
    index = indexed(docs)
    index.contextualize("fake:")
    index.export_contexts(tmp_path / "contexts.jsonl")
    other = crx.open(tmp_path / "other.crx", settings=SETTINGS)
    other.add(docs)
    other.import_contexts(tmp_path / "contexts.jsonl")
    path.write_text(path.read_text() + "But for one heron.\n")
    other.add(docs)
    lost = sum(not context for _, _, context in contexts(other))
    assert 0 < lost < 10


def test_two_copies_of_a_text_keep_different_contexts(tmp_path: Path) -> None:
    index = crx.open(tmp_path / "notes.crx", settings=SETTINGS)
    index.add_documents(crx.Document(uri, "The same words.", chunks=((0, 15),)) for uri in "ab")
    lines = [{"doc_id": u, "start": 0, "end": 15, "context": f"Copy {u}."} for u in "ab"]
    file = tmp_path / "contexts.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    index.import_contexts(file)
    assert contexts(index) == [("a", 0, "Copy a."), ("b", 0, "Copy b.")]


def test_an_unambiguous_id_of_json_lines_is_found(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    record = {"id": "d1", "text": "The heron nests here.", "chunks": [[0, 21]]}
    corpus.write_text(json.dumps(record) + "\n")
    index = crx.open(tmp_path / "notes.crx", settings=SETTINGS)
    index.add(corpus)
    file = tmp_path / "contexts.jsonl"
    file.write_text(json.dumps({"doc_id": "d1", "start": 0, "end": 21, "context": "Of herons."}))
    assert index.import_contexts(file).linked == 1
    shutil.copy(corpus, tmp_path / "copy.jsonl")
    index.add(tmp_path / "copy.jsonl")
    assert index.import_contexts(file).unknown_documents == ("d1",)


def question_set(folder: Path) -> Path:
    folder.mkdir()
    names = ("heron", "egret", "bittern", "stork")
    corpus, queries, contexts_ = [], [], []
    for name in names:
        text = "".join(f"In year {n} the colony counted {n * 37} nests.\n" for n in range(6))
        corpus.append({"doc_id": name, "title": "", "text": text})
        at = 0
        for n, line in enumerate(text.splitlines(keepends=True)):
            span = {"doc_id": name, "start": at, "end": at + len(line)}
            contexts_.append({**span, "context": f"From the {name} survey."})
            query = f"{name} nests in year {n}"
            queries.append({"query_id": query, "query": query, "gold": [{"any": [span]}]})
            at += len(line)
    for file, lines in (("corpus", corpus), ("queries", queries), ("contexts", contexts_)):
        (folder / f"{file}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    return folder


def test_imported_contexts_give_the_figures_of_a_file_given_to_eval(tmp_path: Path) -> None:
    folder = question_set(tmp_path / "set")
    file = folder / "contexts.jsonl"
    questions = read_set(folder)
    settings = {"embedder": "hashed"}
    given = evaluate(questions, contexts=str(file), options=Options(settings=settings))
    with crx.open(tmp_path / "i.crx", settings={**settings, "contexts": "none"}) as index:
        index.add_documents(apply_file_spans(questions.documents, str(file)))
        assert index.import_contexts(file).whole
        vectors = QueryVectors(index.embedder)
        with index.searcher() as searcher:
            runner = QueryRunner(searcher, models=index.search_models, vectors=vectors)
            values = run_queries(runner, questions.queries, given.rows)
    for name in ("recall@1", "recall@20", "mrr"):
        assert (values[name] == given.values[name]).all()
    assert given.mean(given.find_row("contexts.jsonl bm25"), "recall@1") == 1.0


def test_text_that_a_contexts_file_lacks_remains_in_chunks(tmp_path: Path) -> None:
    folder = question_set(tmp_path / "set")
    file = folder / "contexts.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    kept = [row for n, row in enumerate(rows) if n % 3]
    file.write_text("".join(json.dumps(row) + "\n" for row in kept))
    questions = read_set(folder)
    documents = apply_file_spans(questions.documents, str(file))
    spans = {(row["doc_id"], row["start"], row["end"]) for row in kept}
    chunks = [(Path(d.uri).name, d.text, *span) for d in documents for span in d.chunks or ()]
    for document in documents:
        text = "".join(document.text[start:end] for start, end in document.chunks or ())
        assert text.split() == document.text.split()
    assert spans <= {(name, start, end) for name, _, start, end in chunks}
    longest = max(end - start for _, start, end in spans)
    assert all(0 < end - start <= longest for _, _, start, end in chunks)
    given = evaluate(
        questions, contexts=str(file), options=Options(settings={"embedder": "hashed"})
    )
    assert given.mean(given.find_row("contexts.jsonl bm25"), "recall@20") == 1.0


def test_parts_of_a_documents_own_chunks_outside_of_given_spans_remain() -> None:
    text = "abcdefghij klmnop"
    document = Document("a", text, chunks=((0, 4), (4, 10), (10, 11), (11, 17)))
    assert add_other_spans(document, [(2, 5), (6, 8)]) == (
        *((0, 2), (2, 5), (5, 6), (6, 8), (8, 10), (11, 17)),
    )
    assert add_other_spans(document, [(0, 17)]) == ((0, 17),)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: not a JSON object"),
        ('{"doc_id": "a", "start": 5, "end": 2, "context": "x"}', "not before end"),
    ],
)
def test_a_malformed_line_is_reported_with_its_number(
    tmp_path: Path, docs: Path, line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    indexed(docs).close()
    file = tmp_path / "contexts.jsonl"
    file.write_text(line + "\n")
    assert run(["import", str(file), "--index", str(tmp_path / "here.crx")]) == 3
    assert message in capsys.readouterr().err


def test_only_chunks_with_a_context_are_exported(tmp_path: Path, docs: Path) -> None:
    index = indexed(docs)
    assert index.export_contexts(tmp_path / "none.jsonl") == 0
    index.contextualize("fake:refuse=0.5")
    index.export_contexts(tmp_path / "some.jsonl", root=docs)
    records = read_contexts(tmp_path / "some.jsonl")
    assert [(r.document, r.start, r.context) for r in records] == [
        each for each in contexts(index) if each[2]
    ]
    assert isinstance(records[0], Record)
