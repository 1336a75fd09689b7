"""The store: what was put is there, whole or not at all, and says so when it is not."""

from __future__ import annotations

import itertools
import json
import random
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crx import errors
from crx._native import Store

Layout = np.ndarray[Any, np.dtype[np.uint32]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(str(tmp_path / "notes.crx"), write=True, create=True)
    yield store
    store.close()


def lay(*spans: tuple[int, int]) -> Layout:
    """Spans with a token a code point and no sections."""
    return np.array([(a, b, a, b, 0) for a, b in spans], np.uint32).reshape(-1, 5)


def put(store: Store, uri: str, parts: list[str], **words: Any) -> int:
    """Put a document whose chunks are these parts, one after another."""
    ends = np.cumsum([0, *map(len, parts)])
    entry: dict[str, Any] = {
        "title": "",
        "lang": "en",
        "metadata": "{}",
        "source_hash": b"h",
        "source_size": 1,
        "source_mtime_ns": 2,
        "text": "".join(parts),
        "marks": "[]",
        "layout": lay(*((int(a), int(b)) for a, b in itertools.pairwise(ends))),
        "outlines": [""] * len(parts),
        "context_keys": [b""] * len(parts),
        "vector_keys": [part.encode() for part in parts],
    }
    return store.put_document(uri=uri, **(entry | words))


def keys(store: Store, doc: int) -> list[int]:
    return [int(key) for key in store.chunk_keys(doc)]


# open


def test_an_index_is_private_and_holds_its_derived_folder(store: Store) -> None:
    path = Path(store.path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert (path / "derived").is_dir()
    assert (store.seq, store.verify()) == (0, [])


def test_a_second_writer_is_told_who_writes(store: Store) -> None:
    with pytest.raises(errors.Locked, match=r"notes\.crx: process \d+ on .* for \d+ s; wait"):
        Store.open(store.path, write=True)


def test_readers_see_what_a_writer_has_committed(store: Store) -> None:
    doc = put(store, "a", ["one"])
    reader = Store.open(store.path)
    assert reader.text(doc) == "one"
    put(store, "a", ["two"])
    assert reader.text(doc) == "two"
    with pytest.raises(ValueError, match="opened for reading; open it with write=True"):
        put(reader, "b", ["x"])


def test_a_read_transaction_sees_one_state_until_it_ends(store: Store) -> None:
    put(store, "a", ["one"])
    reader = Store.open(store.path)
    reader.begin_read()
    put(store, "b", ["two"])
    assert [row.uri for row in reader.documents()] == ["a"]
    with pytest.raises(ValueError, match="without a read transaction"):
        reader.begin_read()
    reader.end_read()
    reader.end_read()
    assert [row.uri for row in reader.documents()] == ["a", "b"]
    with pytest.raises(ValueError, match="opened for reading"):
        store.begin_read()


def test_a_read_transaction_reads_rows_again_that_another_process_wrote(store: Store) -> None:
    doc = put(store, "a", ["one", "two"])
    found = np.array(keys(store, doc)[::-1])
    store.close()
    reader = Store.open(store.path)
    reader.begin_read()
    assert [row.text for row in reader.chunks(found)] == ["two", "one"]
    code = (
        "import sys; from crx._native import Store; store = Store.open(sys.argv[1], write=True)\n"
        "store.rename_document('a', 'b', metadata='{}', source_mtime_ns=3); store.close()"
    )
    subprocess.run([sys.executable, "-c", code, store.path], check=True)
    assert [row.uri for row in reader.chunks(found)] == ["a", "a"]
    reader.end_read()
    reader.begin_read()
    assert [row.uri for row in reader.chunks(found)] == ["b", "b"]
    passages = reader.expand_passages(found, np.ones(2, np.float32))
    assert [each.uri for each in passages] == ["b"]


def test_a_row_that_was_damaged_since_the_last_read_transaction_is_found(store: Store) -> None:
    (key,) = keys(store, put(store, "a", ["one"]))
    reader = Store.open(store.path)
    reader.begin_read()
    reader.chunks(np.array([key]))
    reader.end_read()
    sqlite(store, "UPDATE piece SET text = 'two'")
    reader.begin_read()
    with pytest.raises(errors.Damaged, match="piece 1 does not match its hash"):
        reader.chunks(np.array([key]))


def test_a_closed_handle_says_so_and_frees_the_lock(store: Store) -> None:
    store.close()
    with pytest.raises(ValueError, match="this handle is closed; open it again"):
        store.documents()
    Store.open(store.path, write=True).close()


@pytest.mark.parametrize("content", [None, b""])
def test_a_folder_without_a_database_is_no_index(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "crx.db").write_bytes(content)
    with pytest.raises(errors.NotAnIndex, match="not an index; `crx index"):
        Store.open(str(tmp_path))
    with pytest.raises(errors.NotAnIndex, match="not an index; `crx index"):
        Store.open(str(tmp_path / "absent"), write=True)


def test_no_index_is_made_among_other_files(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(errors.NotAnIndex, match="a folder of other files"):
        Store.open(str(tmp_path), write=True, create=True)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_file_is_no_index(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for create in (False, True):
        with pytest.raises(errors.NotAnIndex, match="not an index"):
            Store.open(str(tmp_path / "file"), write=True, create=create)


def test_a_database_that_is_not_sqlite_is_damaged(store: Store) -> None:
    store.close()
    (Path(store.path) / "crx.db").write_bytes(b"no database at all" * 500)
    for write in (False, True):
        with pytest.raises(errors.Damaged, match=r"notes\.crx: .*not a database.*verify"):
            Store.open(store.path, write=write)


def sqlite(store: Store, statement: str) -> None:
    """Run SQL in another process, as another program would."""
    store.close()
    code = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.executescript(sys.argv[2])"
    path = str(Path(store.path) / "crx.db")
    subprocess.run([sys.executable, "-c", code, path, statement], check=True)


def test_another_format_is_incompatible_and_both_are_named(store: Store) -> None:
    sqlite(store, "PRAGMA user_version = 7")
    with pytest.raises(errors.Incompatible, match="index format 7, but this crx reads format 2;"):
        Store.open(store.path)


def test_another_programs_database_is_no_index(store: Store) -> None:
    sqlite(store, "PRAGMA application_id = 5")
    with pytest.raises(errors.NotAnIndex, match="the database of another program"):
        Store.open(store.path, write=True)


def test_other_tools_read_the_whole_text(store: Store) -> None:
    text = "aé漢🦀" * 9000
    put(store, "a", [text])
    store.close()
    code = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT text FROM reading').fetchone()[0] == sys.argv[2] * 9000)"  # noqa: E501
    path = str(Path(store.path) / "crx.db")
    done = subprocess.run(
        [sys.executable, "-c", code, path, "aé漢🦀"], check=True, capture_output=True
    )
    assert done.stdout == b"True\n"


# documents


def test_a_document_comes_back_as_it_was_put(store: Store) -> None:
    doc = put(
        store,
        "notes/a.md",
        ["héllo ", "wörld"],
        title="Hello",
        lang="de",
        metadata='{"year":2023}',
        source_hash=b"\x00\xff",
        source_size=12,
        source_mtime_ns=1_700_000_000_000_000_000,
        marks='[{"kind":"heading","start":0,"end":11,"label":"Hello","level":1}]',
        outlines=["o1", "o2"],
    )
    row = store.document("notes/a.md")
    assert row is not None
    found = (row.doc, row.uri, row.title, row.lang, row.metadata, row.chunks)
    assert found == (doc, "notes/a.md", "Hello", "de", '{"year":2023}', 2)
    source = (row.source_hash, row.source_size, row.source_mtime_ns)
    assert source == (b"\x00\xff", 12, 1_700_000_000_000_000_000)
    assert store.text(doc) == "héllo wörld"
    assert store.marks(doc) == '[{"kind":"heading","start":0,"end":11,"label":"Hello","level":1}]'
    assert store.layout(doc).tolist() == [[0, 6, 0, 6, 0], [6, 11, 6, 11, 0]]
    assert store.layout(doc).dtype == np.uint32
    first, second = store.chunks(store.chunk_keys(doc))
    assert (first.text, first.outline, second.text, second.outline) == (
        "héllo ",
        "o1",
        "wörld",
        "o2",
    )
    assert (first.context, first.outcome, first.uri, first.title, first.lang) == (
        "", "", "notes/a.md", "Hello", "de",
    )  # fmt: skip
    assert (store.document("b"), store.document_by_id(99)) == (None, None)


def test_a_document_may_be_empty(store: Store) -> None:
    doc = put(store, "a", [])
    assert (store.text(doc), store.layout(doc).shape, keys(store, doc)) == ("", (0, 5), [])
    assert store.verify() == []


def test_unknown_chunks_are_left_out_and_order_is_kept(store: Store) -> None:
    a, b = keys(store, put(store, "a", ["one", "two"]))
    rows = store.chunks(np.array([b, 999, a, b]))
    assert [row.text for row in rows] == ["two", "one", "two"]


def test_unchanged_chunks_keep_their_keys_wherever_they_move(store: Store) -> None:
    doc = put(store, "a", ["one", "two", "two", "three"])
    one, two, again, _ = keys(store, doc)
    assert put(store, "a", ["new", "two", "one", "two"]) == doc
    new = keys(store, doc)
    assert new[1:] == [two, one, again]
    assert new[0] not in (one, two, again)
    assert [row.text for row in store.chunks(store.chunk_keys(doc))] == ["new", "two", "one", "two"]
    assert store.verify() == []


@pytest.mark.parametrize(
    "change",
    [
        {"outlines": ["other"]},
        {"vector_keys": [b"other"]},
        {"context_keys": [b"c"]},
        {"layout": np.array([[0, 3, 0, 2, 0]], np.uint32)},
    ],
)
def test_a_chunk_that_says_something_else_gets_a_key_never_used_before(
    store: Store, change: dict[str, Any]
) -> None:
    store.put_contexts([(b"c", "g", "ok", "t")])
    doc = put(store, "a", ["one"])
    before = keys(store, doc)
    put(store, "a", ["one"], **change)
    assert keys(store, doc) > before


def test_keys_are_never_given_again(store: Store) -> None:
    doc = put(store, "a", ["one"])
    (key,) = keys(store, doc)
    assert store.remove_documents(["a", "b"]) == 1
    again = put(store, "a", ["one"])
    assert again > doc
    assert keys(store, again)[0] > key


def test_putting_the_same_again_changes_nothing(store: Store) -> None:
    put(store, "a", ["one"])
    seq = store.seq
    put(store, "a", ["one"])
    assert store.seq == seq


def test_touching_and_renaming_keep_everything_else(store: Store) -> None:
    doc = put(store, "a", ["one"])
    before = keys(store, doc)
    store.touch_document("a", source_mtime_ns=77, source_size=5)
    store.rename_document("a", "b", metadata="{}", source_mtime_ns=78)
    row = store.document("b")
    assert row is not None
    assert (row.doc, row.source_mtime_ns, row.source_size) == (doc, 78, 5)
    assert (store.document("a"), keys(store, doc)) == (None, before)
    put(store, "a", ["two"])
    with pytest.raises(ValueError, match="b: exists already; remove it"):
        store.rename_document("a", "b", metadata="{}", source_mtime_ns=1)
    with pytest.raises(ValueError, match="c: no such document"):
        store.touch_document("c", source_mtime_ns=1, source_size=1)
    assert store.verify() == []


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"layout": lay((0, 4))}, r"layout\[0\] spans 0..4 of 3 code points"),
        ({"layout": lay((2, 2))}, r"layout\[0\] spans 2..2"),
        ({"layout": lay((1, 3), (0, 3))}, r"layout\[1\] starts or ends before"),
        ({"layout": np.array([[0, 3, 5, 2, 0]], np.uint32)}, r"layout\[0\] spans tokens 5..2"),
        ({"layout": np.zeros((1, 4), np.uint32)}, r"layout: its shape is not \(n, 5\)"),
        ({"outlines": []}, "outlines has 0 items for 1 chunks"),
        ({"context_keys": [b"no"]}, "context 6e6f: no such context; put it first"),
        ({"metadata": "[]"}, "metadata is not a JSON object"),
        ({"metadata": "{"}, "metadata is not a JSON object"),
        ({"marks": '["x"]'}, "marks is not a JSON list of marks"),
    ],
)
def test_what_does_not_hold_together_is_refused_whole(
    store: Store, change: dict[str, Any], fact: str
) -> None:
    if len(change.get("layout", [0])) == 2:
        change |= {
            "outlines": ["", ""],
            "context_keys": [b"", b""],
            "vector_keys": [b"", b""],
        }
    with pytest.raises(ValueError, match=fact):
        put(store, "a", ["one"], **change)
    assert (store.documents(), store.seq) == ([], 0)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.text("aé漢🦀\0\n", min_size=1, max_size=30), max_size=6), max_size=4))
def test_chunks_are_always_their_span_of_the_text(store: Store, versions: list[list[str]]) -> None:
    for parts in versions:
        doc = put(store, "a", parts)
        rows = store.chunks(store.chunk_keys(doc))
        text = store.text(doc)
        assert [row.text for row in rows] == parts == [text[row.start : row.end] for row in rows]
    assert store.verify() == []


def test_a_chunk_may_cross_the_pieces_its_text_is_kept_in(store: Store) -> None:
    text = "aé漢🦀\n" * 20_000
    spans = [(i, i + 9000) for i in range(0, 90_000, 4000)]
    words = {"outlines": [""] * len(spans), "context_keys": [b""] * len(spans)}
    doc = put(
        store, "a", [], text=text, layout=lay(*spans), vector_keys=[b""] * len(spans), **words
    )
    rows = store.chunks(store.chunk_keys(doc))
    assert [row.text for row in rows] == [text[a:b] for a, b in spans]


# contexts and vectors


def test_a_chunk_waits_for_its_vector_and_is_linked_when_it_comes(store: Store) -> None:
    doc = put(store, "a", ["one", "two"])
    one, two = keys(store, doc)
    assert store.pending().tolist() == [one, two]
    assert store.pending(after=one).tolist() == [two]
    assert store.count_pending() == 2
    assert store.pending(limit=1).tolist() == [one]
    seq = store.seq
    store.put_vectors([b"one"], np.ones((1, 4), np.float32))
    assert (store.pending().tolist(), store.seq) == ([two], seq + 1)
    assert store.have_vectors([b"one", b"two"]) == [True, False]
    again = put(store, "b", ["one"])
    assert store.pending().tolist() == [two]
    assert keys(store, again)
    assert store.verify() == []


def test_pending_chunks_have_their_document_and_ordinal(store: Store) -> None:
    a, b = put(store, "a", ["one", "two"]), put(store, "b", ["three", "four"])
    store.put_vectors([b"two", b"three"], np.ones((2, 4), np.float32))
    one, two, three, four = *keys(store, a), *keys(store, b)
    assert store.pending_chunks().tolist() == [[one, a, 0], [four, b, 1]]
    assert store.without_vector(np.array([four, three, 99, two, one])).tolist() == [four, one]


def test_a_chunk_that_wants_no_vector_is_not_pending(store: Store) -> None:
    (key,) = keys(store, put(store, "a", ["one"], vector_keys=[b""]))
    assert store.pending().tolist() == []
    assert store.pending_chunks().shape == (0, 3)
    assert store.without_vector(np.array([key])).tolist() == []


def test_a_context_is_linked_and_the_old_vector_stays_until_the_new_one(store: Store) -> None:
    (key,) = keys(store, put(store, "a", ["one"]))
    store.put_vectors([b"one"], np.ones((1, 4), np.float32))
    store.put_contexts([(b"c", "llama", "ok", "from ACME's filing"), (b"c", "x", "y", "z")])
    store.link_context(key, b"c", b"one+c")
    (row,) = store.chunks(np.array([key]))
    assert (row.context, row.outcome) == ("from ACME's filing", "ok")
    assert store.pending().tolist() == [key]
    assert store.without_vector(np.array([key])).tolist() == []
    assert store.gc() == {"vectors": 0, "texts": 0}
    store.put_vectors([b"one+c"], np.ones((1, 4), np.float32))
    assert store.pending().tolist() == []
    assert store.gc() == {"vectors": 1, "texts": 0}
    assert store.contexts([b"c", b"d"]) == [("llama", "ok", "from ACME's filing"), None]
    seq = store.seq
    store.link_context(key, b"c", b"one+c")
    assert store.seq == seq


def test_linking_what_is_not_there_is_refused(store: Store) -> None:
    (key,) = keys(store, put(store, "a", ["one"]))
    with pytest.raises(ValueError, match="context 63: no such context; put it first"):
        store.link_context(key, b"c", b"v")
    store.put_contexts([(b"c", "g", "ok", "t")])
    with pytest.raises(ValueError, match="chunk 99: no such chunk"):
        store.link_context(99, b"c", b"v")


@pytest.mark.parametrize(
    ("vector_keys", "rows", "fact"),
    [
        ([b"k"], np.ones((2, 3), np.float32), "keys: 1 for 2 rows"),
        ([b""], np.ones((1, 3), np.float32), "key is empty"),
        ([b"k"], np.full((1, 3), np.nan, np.float32), r"rows\[0\]: a number is not finite"),
        ([b"k"], np.full((1, 3), 1e6, np.float32), r"rows\[0\]: a number is not finite"),
        ([b"k"], np.ones((1, 0), np.float32), "0 numbers for 1 keys"),
    ],
)
def test_vectors_that_cannot_be_kept_are_refused(
    store: Store, vector_keys: list[bytes], rows: Any, fact: str
) -> None:
    with pytest.raises(ValueError, match=fact):
        store.put_vectors(vector_keys, rows)
    assert store.stats()["vectors"] == 0


def test_contexts_outlive_their_document_until_gc_is_told(store: Store) -> None:
    store.put_contexts([(b"c", "g", "rejected:empty", "")])
    put(store, "a", ["one"], context_keys=[b"c"])
    store.put_vectors([b"one"], np.ones((1, 4), np.float32))
    assert store.stats()["outcome:rejected:empty"] == 1
    store.remove_documents(["a"])
    assert store.gc() == {"vectors": 1, "texts": 1}
    assert store.stats()["contexts"] == 1
    assert store.gc(contexts=True) == {"vectors": 0, "texts": 0, "contexts": 1}
    assert store.verify() == []


def test_stats_count_what_is_there(store: Store) -> None:
    put(store, "a", ["one", "two"])
    put(store, "b", ["one"], lang="fr")
    put(store, "c", ["one"], lang="")
    store.put_vectors([b"one"], np.ones((1, 4), np.float32))
    stats = store.stats()
    assert stats.pop("bytes") > 0
    assert stats == {
        "documents": 3,
        "chunks": 4,
        "tokens": 12,
        "vectors": 1,
        "pending": 1,
        "contexts": 0,
        "failures": 0,
    }
    assert store.chunks_by_lang() == [("", 1), ("en", 2), ("fr", 1)]
    assert store.langs() == ["", "en", "fr"]


def test_settings_are_kept_by_name(store: Store) -> None:
    store.set_settings({"embedder": "hashed", "chunk": "400"})
    store.set_settings({"chunk": "800"})
    assert store.settings() == {"embedder": "hashed", "chunk": "800"}


def test_a_failure_is_cleared_when_its_document_comes_or_goes(store: Store) -> None:
    for uri in "abc":
        store.record_failure(uri, "no text")
    put(store, "a", ["one"])
    store.remove_documents(["b"])
    assert store.failures() == [("c", "no text")]


# filters

DOCUMENTS: dict[str, dict[str, Any]] = {
    "docs/a.md": {"lang": "en", "year": 2020, "tags": ["x", "y"], 'odd "name\\ é': "v"},
    "docs/sub/b.md": {"lang": "fr", "year": 2021.5, "tags": [], "draft": True},
    "c.pdf#3": {"lang": "en", "year": "2020", "tags": ["y", 1]},
}


@pytest.fixture
def library(store: Store) -> Store:
    for uri, words in DOCUMENTS.items():
        metadata = json.dumps({name: value for name, value in words.items() if name != "lang"})
        put(store, uri, ["text"], lang=words["lang"], metadata=metadata)
    return store


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ({}, 3),
        ({"lang": "en"}, 2),
        ({"lang": ["en", "fr"]}, 3),
        ({"lang": []}, 0),
        ({"uri": "docs/*.md"}, 1),
        ({"uri": "docs/**"}, 2),
        ({"uri": "docs/**/*.md"}, 2),
        ({"uri": {"=": "docs/*.md"}}, 0),
        ({"uri": {"prefix": "docs/"}}, 2),
        ({"uri": {"!=": "docs/a.md"}}, 2),
        ({"source": "c.pdf"}, 1),
        ({"year": 2020}, 1),
        ({"year": 2020.0}, 1),
        ({"year": "2020"}, 1),
        ({"year": {">=": 2020, "<": 2021}}, 1),
        ({"year": {">": 2020}}, 1),
        ({"year": {"<": "3"}}, 1),
        ({"tags": "y"}, 2),
        ({"tags": ["x", 1]}, 2),
        ({"tags": {"!=": "y"}}, 1),
        ({"draft": True}, 1),
        ({"draft": 1}, 0),
        ({"draft": {"!=": True}}, 2),
        ({"absent": "x"}, 0),
        ({'odd "name\\ é': "v"}, 1),
        ({"' OR 1=1 --": "v"}, 0),
        ({"uri": {"in": ["c.pdf#3", *map(str, range(50_000))]}}, 1),
        ({"lang": "en", "year": 2020}, 1),
        ({"title": ""}, 3),
    ],
)
def test_a_filter_selects_the_documents_it_holds_for(
    library: Store, where: dict[str, Any], count: int
) -> None:
    assert len(library.select(json.dumps(where))) == count


def test_the_kind_of_a_document_is_that_of_its_path_else_of_its_text(store: Store) -> None:
    code = "int read(int fd) {\n    return fd;\n}\n"
    kinds = {"a.py": "code", "README.md": "prose", "a.toml": "data", "bin/x": "code", "x": "prose"}
    docs = {uri: put(store, uri, ["Boil." if uri == "x" else code]) for uri in kinds}
    for uri, doc in docs.items():
        (chunk,) = store.chunks(np.array(keys(store, doc)))
        row = store.document(uri)
        assert row is not None
        assert (row.kind, chunk.kind) == (kinds[uri], kinds[uri])
    assert docs["a.toml"] in store.select('{"kind": "data"}')
    assert len(store.select('{"kind": "code"}')) == 2
    store.rename_document("a.py", "a.txt", metadata="{}", source_mtime_ns=2)
    assert len(store.select('{"kind": "code"}')) == 1
    store.rename_document("a.txt", "a", metadata="{}", source_mtime_ns=2)
    assert len(store.select('{"kind": "code"}')) == 2
    assert store.verify() == []


@pytest.mark.parametrize(
    ("where", "fact"),
    [
        ("[]", "not a JSON object"),
        ("{", "not a JSON object"),
        ('{"year": null}', "null is not a text, number, true or false"),
        ('{"year": {}}', "no operator; give one of"),
        ('{"year": {"~": 1}}', 'no operator "~"; the operators are'),
        ('{"year": {"<": true}}', '"<" does not accept true'),
        ('{"year": {"in": 1}}', '"in" does not accept 1'),
        ('{"uri": "a[b"}', r'a "\[" has no "\]"; use \{"=": ...\} for'),
    ],
)
def test_anything_else_is_no_filter(library: Store, where: str, fact: str) -> None:
    with pytest.raises(ValueError, match=f"filter: .*{fact}"):
        library.select(where)


# what the world does


def test_threads_share_a_handle(store: Store) -> None:
    def work(name: int) -> None:
        for version in range(5):
            put(store, f"{name}", [f"{name}", f"{version}"])

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (store.seq, len(store.documents()), store.verify()) == (20, 4, [])


def test_a_long_line_goes_in_whole(store: Store) -> None:
    text = "0123456789" * 2_000_000
    doc = put(store, "a", [text[:1000], text[1000:]], vector_keys=[b"", b""])
    first, rest = store.chunks(store.chunk_keys(doc))
    assert (first.text + rest.text == text, store.text(doc) == text) == (True, True)


CHILD = """
import sys
import numpy as np
from crx._native import Store
store = Store.open(sys.argv[1], write=True, create=True)
for number in range(100000):
    text = f"{number} " * 50
    store.put_document(
        uri=f"{number % 7}", title="", lang="en", metadata="{}", source_hash=b"", source_size=0,
        source_mtime_ns=number, text=text, marks="[]", outlines=["", ""], context_keys=[b"", b""],
        vector_keys=[b"a", text.encode()],
        layout=np.array([[0, 9, 0, 9, 0], [9, len(text), 9, 99, 0]], np.uint32),
    )
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def test_a_killed_writer_loses_nothing_it_has_acknowledged(tmp_path: Path) -> None:
    path = str(tmp_path / "notes.crx")
    chance = random.Random(7)
    for _ in range(10):
        child = subprocess.Popen([sys.executable, "-c", CHILD, path], stdout=subprocess.PIPE)
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(chance.randrange(1, 25))]
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.read().splitlines(keepends=True)
        child.wait()
        child.stdout.close()
        acknowledged = [int(line) for line in lines if line.endswith(b"\n")]
        with_last: dict[str, int] = {}
        for number in acknowledged:
            with_last[f"{number % 7}"] = number
        store = Store.open(path, write=True)
        assert store.verify() == []
        for uri, number in with_last.items():
            row = store.document(uri)
            assert row is not None
            # The kill may have come after a commit and before its line.
            assert row.source_mtime_ns in (number, acknowledged[-1] + 1)
            assert store.text(row.doc) == f"{row.source_mtime_ns} " * 50
        store.close()


def test_with_a_base_uris_below_it_are_stored_relative_to_it(tmp_path: Path) -> None:
    uris = ["/docs/a.md", "/docs/sub/b.md#1", "/docsother/c.md", "mem:1", "./d", "/docs"]
    with closing(
        Store.open(str(tmp_path / "notes.crx"), write=True, create=True, base="/docs")
    ) as store:
        for uri in uris:
            put(store, uri, ["krill"], metadata=f'{{"a":1,"path":"{uri}"}}')
        store.record_failure("/docs/e.pdf", "no text")
        assert {row.uri for row in store.documents()} == set(uris)
        assert store.failures() == [("/docs/e.pdf", "no text")]
        (chunk,) = store.chunks(store.chunk_keys(1))
        assert chunk.uri == "/docs/a.md"
        (passage,) = store.expand_passages(np.array([1]), np.array([1.0], np.float32))
        assert (passage.uri, passage.metadata) == ("/docs/a.md", '{"a":1,"path":"/docs/a.md"}')
        store.rename_document("/docs/a.md", "/docs/z.md", metadata="{}", source_mtime_ns=0)
        assert store.remove_documents(["/docs/z.md"]) == 1
    with closing(Store.open(str(tmp_path / "notes.crx"))) as store:
        stored = {row.uri: row.metadata for row in store.documents()}
        assert stored["./sub/b.md#1"] == '{"a":1,"path":"./sub/b.md#1"}'
        assert set(stored) == {"./", "././d", "./sub/b.md#1", "/docsother/c.md", "mem:1"}
        assert store.failures() == [("./e.pdf", "no text")]


FILTERS_ON_PATHS: list[tuple[object, set[str]]] = [
    ({"=": "/docs/a.md"}, {"/docs/a.md"}),
    ({"!=": "/docs/a.md"}, {"/docs/sub/b.md", "/other/c.md", "mem:1"}),
    (["/docs/a.md", "/other/c.md"], {"/docs/a.md", "/other/c.md"}),
    ({"prefix": "/docs/s"}, {"/docs/sub/b.md"}),
    ({"prefix": "/"}, {"/docs/a.md", "/docs/sub/b.md", "/other/c.md"}),
    ("/docs/*.md", {"/docs/a.md"}),
    ("**/*.md", {"/docs/a.md", "/docs/sub/b.md", "/other/c.md"}),
    ({">": "/docs/a.md", "<": "/other"}, {"/docs/sub/b.md"}),
    ("./a.md", set()),
]


@pytest.mark.parametrize("field", ["uri", "source", "path"])
@pytest.mark.parametrize(("condition", "found"), FILTERS_ON_PATHS)
def test_filters_compare_absolute_paths(
    tmp_path: Path, field: str, condition: object, found: set[str]
) -> None:
    with closing(
        Store.open(str(tmp_path / "notes.crx"), write=True, create=True, base="/docs")
    ) as store:
        for uri in ["/docs/a.md", "/docs/sub/b.md", "/other/c.md", "mem:1"]:
            put(store, uri, ["krill"], metadata=json.dumps({"path": uri}))
        only = store.select(json.dumps({field: condition}))
        assert {row.uri for row in store.documents() if row.doc in only} == found
        with pytest.raises(ValueError, match=re.escape('"/docs/[": a "[" has no "]"')):
            store.select(json.dumps({field: "/docs/["}))


def test_the_fields_of_all_metadata_are_listed(tmp_path: Path) -> None:
    with closing(Store.open(str(tmp_path / "notes.crx"), write=True, create=True)) as store:
        assert store.metadata_fields() == set()
        put(store, "a", ["krill"], metadata='{"year":1851,"by":"Melville"}')
        put(store, "b", ["krill"], metadata='{"year":2020,"lang.s":[]}')
        assert store.metadata_fields() == {"by", "lang.s", "year"}
