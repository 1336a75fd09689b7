"""Every path that is met is indexed, skipped with a reason, or a failure."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable

import pytest
from crx_process import CrxHere

from crx._index.handle import open as open_index
from crx.errors import InputError, NothingToRead, NotText
from crx.ingest import discover, file_pass
from crx.ingest.found_file import FoundFile
from crx.ingest.read import read_bytes
from crx.ingest.roots import read_skipped

TEXT = "# Whales\n\nKrill is what a whale eats.\n"
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))


@pytest.fixture
def crx(crx_here: CrxHere) -> CrxHere:
    crx = crx_here
    (crx.folder / "docs").mkdir()
    return crx


def zipped() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("a.md", TEXT)
    return data.getvalue()


def tarred() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("a.md"), io.BytesIO())
    return data.getvalue()


def test_every_path_is_accounted_for(crx: CrxHere) -> None:
    docs = crx.folder / "docs"
    contents = {
        "a.md": TEXT.encode(),
        "notes.txt.gz": gzip.compress(TEXT.encode()),
        "empty.md": b"",
        "picture.png": PNG,
        "archive.zip": zipped(),
        "archive.tar.gz": tarred(),
        "letter.docx": zipped(),
        "noise.bin": bytes(range(256)) * 8,
        "searchindex.js": b"a=1;" * 5_000,
        ".hidden": b"words",
        "draft.tmp": b"words",
        "~$letter.docx": b"\3Ann",
        "letter.pdf.crdownload": b"%PDF-1.7",
        "no-slides.pptx": b"",
        "mark.txt": b"\xef\xbb\xbf",
        "secret.key": b"words",
        ".gitignore": b"*.tmp\n",
        "other.crx/crx.db": b"",
        "node_modules/left-pad/README.md": TEXT.encode(),
    }
    for name, data in contents.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_bytes(data)
    (docs / "link.md").symlink_to("a.md")
    (docs / "broken.md").symlink_to("gone.md")
    os.mkfifo(docs / "pipe")
    done = crx("index", "-q", "docs", "--exclude", "*.key")
    assert done.out.startswith(".crx: 3 files added, 10 skipped, 1 failed")
    assert '"crx status --skipped" lists what was skipped, and why' in done.err
    listed = crx("status", "--skipped").out.splitlines()
    assert listed == [
        "docs/.gitignore: is hidden",
        "docs/.hidden: is hidden",
        "docs/archive.tar.gz: is an archive without documents",
        "docs/broken.md: is a broken link to gone.md; links are not followed",
        f"docs/draft.tmp: ignored by {docs}/.gitignore",
        "docs/empty.md: is empty",
        "docs/letter.pdf.crdownload: is an unfinished download",
        "docs/link.md: is a link to a.md; links are not followed",
        "docs/mark.txt: is empty",
        "docs/no-slides.pptx: is empty",
        "docs/node_modules: holds no documents: skip_folders has node_modules",
        "docs/noise.bin: is a binary file",
        "docs/other.crx: is an index",
        "docs/picture.png: is a picture (PNG)",
        "docs/pipe: is a pipe",
        "docs/searchindex.js: is a search index",
        "docs/secret.key: excluded",
        "docs/~$letter.docx: is hidden",
    ]
    status = crx("status", "--skipped", "--documents", "--json").json
    named = [each["uri"] for each in status["documents"] + status["skipped"]]
    named += [uri for uri, _ in status["failures"]]
    met = {str(path) for path in docs.iterdir()}
    # The documents of an archive are named after their paths within.
    assert f"{docs}/archive.zip#a.md" in named
    assert sorted(uri.partition("#")[0] for uri in named) == sorted(met)


def test_status_counts_as_skipped_what_index_does(crx: CrxHere) -> None:
    here = crx.folder
    (here / "a.md").write_text(TEXT)
    (here / "noise.bin").write_bytes(bytes(range(256)) * 8)
    (here / "draft.tmp").write_text(TEXT)
    done = crx("index", "-q", ".", "--exclude", "*.tmp", "--json")
    assert (done.json["skipped"], done.json["ignored"]) == (1, 1)
    line = 'files and folders: 1 skipped, 1 ignored by a rule; "crx status --skipped" lists them'
    assert line in crx("status").out.splitlines()
    # The index itself is none of them.
    assert crx("status", "--skipped").out.splitlines() == [
        "draft.tmp: excluded",
        "noise.bin: is a binary file",
    ]


def test_code_without_line_breaks_is_minified() -> None:
    with pytest.raises(NotText, match="is minified code"):
        list(read_bytes(b"/* licence */\n" + b"f(x);" * 9_000, name="app.min.js"))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("app.js", b"let x = 1;\n" * 9_000 + b"x" * 9_000),
        ("app.js", b"f(x);" * 100),
        ("export.json", b'{"a": 1} ' * 9_000),
        ("letter.md", b"words " * 9_000),
    ],
)
def test_code_with_line_breaks_and_other_texts_without_are_read(name: str, data: bytes) -> None:
    assert list(read_bytes(data, name=name))


def test_the_record_follows_the_files(crx: CrxHere) -> None:
    for name in ("one", "two"):
        (crx.folder / "docs" / name).mkdir()
        (crx.folder / "docs" / name / "picture.png").write_bytes(PNG)
    crx("index", "-q", "docs")
    (crx.folder / "docs" / "one" / "picture.png").write_text("words")
    crx("index", "-q", "docs/one")
    assert crx("status", "--skipped").out == "docs/two/picture.png: is a picture (PNG)\n"
    (crx.folder / ".crx" / "skipped.jsonl").unlink()
    assert crx("status", "--skipped").out == ""


@pytest.mark.parametrize("extension", COMPRESS)
def test_compressed_text_is_read_as_the_file_it_holds(extension: str) -> None:
    compress = COMPRESS[extension]
    (document,) = read_bytes(compress(TEXT.encode()), name=f"/a.md{extension}")
    assert (document.uri, document.title, document.text) == (f"/a.md{extension}", "Whales", TEXT)
    kept = {"ext": "md", "format": "markdown", "compression": extension[1:]}
    assert document.metadata == kept
    lines = compress(b'{"id": "x", "text": "b"}\n')
    assert [d.uri for d in read_bytes(lines, name=f"/a.jsonl{extension}")] == [
        f"/a.jsonl{extension}#x"
    ]


def test_several_compressed_parts_are_one_text() -> None:
    for name, compress in COMPRESS.items():
        (document,) = read_bytes(compress(b"one\n") + compress(b"two\n"), name=f"a.txt{name}")
        assert document.text == "one\ntwo\n"


def test_no_more_is_decompressed_than_the_limit() -> None:
    for name, compress in COMPRESS.items():
        bomb = compress(b"words\n" * 166_668)
        with pytest.raises(InputError, match="more than max_file_mb = 1 when decompressed"):
            list(read_bytes(bomb, name=f"a.txt{name}", max_bytes=1_000_000))
        assert list(read_bytes(bomb, name=f"a.txt{name}", max_bytes=2_000_000))


@pytest.mark.parametrize("extension", [".gz", ".bz2", ".xz"])
def test_a_damaged_compressed_file_is_named(extension: str) -> None:
    with pytest.raises(InputError, match=rf"is a damaged {extension} file"):
        list(read_bytes(b"no such thing", name=f"a.txt{extension}"))
    whole = COMPRESS[extension](os.urandom(1000))
    with pytest.raises(InputError, match=rf"is a damaged {extension} file"):
        list(read_bytes(whole[:500], name=f"a.txt{extension}"))


@pytest.mark.parametrize(
    "data",
    [
        b"GET / 200\n" * 9 + b"GET \0 500\n",
        b"one\0\n",
        b"\0" * 200_000 + b"after the log was truncated\n" * 9,
        b"Gr\xfc\xdfe aus M\xfcnchen, sch\xf6ne \0 Gr\xfc\xdfe\n" * 3,
    ],
)
def test_a_few_nul_bytes_make_no_text_binary(data: bytes) -> None:
    (document,) = read_bytes(data, name="a.log")
    assert document.text.count("\n") == data.count(b"\n")
    assert "\0" not in document.text


@pytest.mark.parametrize("control", ["\a", "\b", "\x1b"])
def test_a_control_of_terminals_makes_no_text_binary(control: str) -> None:
    (document,) = read_bytes(f"hello {control}tamarind\n".encode(), name="a.txt")
    assert document.text == f"hello {control}tamarind\n"


def test_colours_of_a_terminal_are_no_text() -> None:
    (document,) = read_bytes(b"\x1b[2K\x1b[1;31mWARN\x1b[0m tar\n", name="a.log")
    assert document.text == "WARN tar\n"


def test_nul_bytes_part_words() -> None:
    (document,) = read_bytes(b"\0hello\0tamarind\0\0\nand\0\0\0more\r\n\0", name="a.txt")
    assert document.text == "hello tamarind\nand more\n"


def test_many_nul_bytes_do() -> None:
    with pytest.raises(NotText, match="is a binary file"):
        list(read_bytes(b"one\0two\0\0\0three\0" * 9, name="a.log"))


BUILT = [
    "node_modules/a/README.md",
    "sub/__pycache__/a.txt",
    "venv/lib/site-packages/a/a.py",
    "env/pyvenv.cfg",
    "cache/CACHEDIR.TAG",
    "target/debug/notes.md",
    "build/lib/a.py",
    "docs/_build/a.html",
]


def test_folders_of_build_products_are_no_documents(crx: CrxHere) -> None:
    for name in [*BUILT, ".venv/a.md", ".tox/a.md", ".mypy_cache/a.md", "Cargo.toml", "setup.py"]:
        (crx.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (crx.folder / name).write_text("words\n")
    (crx.folder / "docs" / "build").mkdir()
    (crx.folder / "docs" / "build" / "how.md").write_text(TEXT)
    crx("index", "-q", ".")
    assert crx("status", "--documents").out == "Cargo.toml\ndocs/build/how.md\nsetup.py\n"
    reasons = crx("status", "--skipped").out
    assert "target: holds no documents: skip_folders has target/../Cargo.toml" in reasons
    assert "cache: holds no documents: skip_folders has */CACHEDIR.TAG" in reasons
    assert crx("index", "-q", "node_modules").out.startswith(".crx: 1 file added")


def test_what_an_ignore_file_takes_back_holds_documents(crx: CrxHere) -> None:
    (crx.folder / "docs" / "venv").mkdir()
    (crx.folder / "docs" / "venv" / "a.md").write_text(TEXT)
    (crx.folder / "docs" / ".crxignore").write_text("!venv/\n")
    assert crx("index", "-q", "docs").out.startswith(".crx: 1 file added")


def test_the_folders_are_a_setting(crx: CrxHere) -> None:
    assert "skip_folders: node_modules bower_components __pycache__" in crx("config").out
    (crx.folder / "docs" / "node_modules").mkdir()
    (crx.folder / "docs" / "node_modules" / "a.md").write_text(TEXT)
    (crx.folder / "docs" / "drafts").mkdir()
    (crx.folder / "docs" / "drafts" / "b.md").write_text(TEXT)
    done = crx("index", "-q", "docs", "--set", "skip_folders=drafts")
    assert done.out.startswith(".crx: 1 file added")
    assert crx("status", "--documents").out == "docs/node_modules/a.md\n"


def test_a_skipped_file_is_read_again_only_when_that_may_change_something(
    crx: CrxHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def read_content(file: FoundFile, *, max_file_mb: int) -> bytes:
        read.append(file.path.name)
        return discover.read_content(file, max_file_mb=max_file_mb)

    monkeypatch.setattr(file_pass, "read_content", read_content)
    docs = crx.folder / "docs"
    (docs / "picture.png").write_bytes(PNG)
    (docs / "whales.md").write_text(TEXT)
    index = crx.folder / "own.crx"

    def index_docs(*, rehash: bool = False) -> list[str]:
        read.clear()
        with open_index(index, settings={"embedder": "none"}) as opened:
            assert opened.add(docs, rehash=rehash).skipped == 1
            assert [each.reason for each in read_skipped(opened.store)] == ["is a picture (PNG)"]
        return read.copy()

    assert index_docs() == ["picture.png", "whales.md"]
    assert index_docs() == []
    assert index_docs(rehash=True) == ["picture.png", "whales.md"]
    stat = (docs / "picture.png").stat()
    (docs / "picture.png").write_bytes(PNG)
    os.utime(docs / "picture.png", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert index_docs() == ["picture.png"]  # its content may be another one
    monkeypatch.setattr(file_pass, "installed_packages", lambda: "one more")
    assert index_docs() == ["picture.png"]
    assert index_docs() == []


@pytest.mark.parametrize("damage", [b"{", b"\0" * 512, b'{"other": 1}\n'])
def test_a_damaged_record_is_made_anew(crx: CrxHere, damage: bytes) -> None:
    (crx.folder / "docs" / "picture.png").write_bytes(PNG)
    (crx.folder / "docs" / "whales.md").write_text(TEXT)
    assert crx("index", "docs", "-q").code == 0
    record = crx.folder / ".crx" / "skipped.jsonl"
    whole = record.read_bytes()
    record.write_bytes(damage)
    assert crx("status").code == 0
    assert crx("index", "docs", "-q").code == 0
    assert record.read_bytes() == whole


def test_what_was_read_and_has_no_text_is_skipped_whatever_its_name(crx: CrxHere) -> None:
    docs = crx.folder / "docs"
    (docs / "a.md").write_text(TEXT)
    (docs / "empty.ics").write_text("BEGIN:VCALENDAR\nEND:VCALENDAR\n")
    (docs / "page.html").write_text("<html><body><img src=a.png></body></html>")
    (docs / "blank.rtf").write_text("{\\rtf1 }")
    done = crx("index", "-q", "docs")
    assert (done.code, done.out) == (0, ".crx: 1 file added, 3 skipped\n")
    assert crx("status", "--skipped").out.splitlines() == [
        "docs/blank.rtf: has no text",
        "docs/empty.ics: has no contact, event or task",
        "docs/page.html: has no text besides its markup",
    ]


def test_a_page_that_scripts_make_is_found_by_its_title_and_description() -> None:
    page = (
        b"<title>Board of the lockkeepers</title><meta name=description content='Levels of all"
        b" sluices'><body><div id=root></div><script>render()</script></body>"
    )
    (document,) = read_bytes(page, name="a.html")
    assert document.text == "Board of the lockkeepers\n\nLevels of all sluices"
    assert document.metadata["left_out"] == ["body"]


def test_a_failure_of_an_earlier_run_is_one_line_until_it_changes(crx: CrxHere) -> None:
    docs = crx.folder / "docs"
    (docs / "a.md").write_text(TEXT)
    (docs / "letter.docx").write_bytes(b"PK\3\4 no archive")
    first = crx("index", "-q", "docs")
    assert (first.code, first.err.count("docs/letter.docx: ")) == (3, 1)
    again = crx("index", "-q")
    assert again.code == 0
    assert "docs/letter.docx" not in again.err
    assert '1 file failed as before; "crx status" lists them, with the reasons' in again.err
    assert "docs/letter.docx: " in crx("status").err
    (docs / "letter.docx").write_bytes(b"PK\3\4 no archive either")
    changed = crx("index", "-q")
    assert (changed.code, changed.err.count("docs/letter.docx: ")) == (3, 1)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("search/all_0.js", b"var searchData=\n[\n['a',['b']]\n];\n"),
        ("searchindex.js", b'Search.setIndex({"docnames": ["a"]})'),
        ("docs/lunr.json", b'{"fields": ["title"]}'),
        ("Inbox.msf", b'// <!-- <mdb:mork:z v="1.4"/> -->'),
        ("search/search_index.json", b'{"docs": [{"text": "words"}]}'),
    ],
)
def test_a_search_index_of_documentation_is_nothing_to_read(name: str, data: bytes) -> None:
    with pytest.raises(NothingToRead, match="is a search index"):
        list(read_bytes(data, name=name))


POINTS = ",".join(f"[{n}.5,-{n}e-3]" for n in range(400))
STEPS = " ".join(f"M{n},{n}.5L-{n} .5" for n in range(400))
KEY = ("QUJD" * 19 + "\n") * 30


@pytest.mark.parametrize(
    ("name", "text", "kept"),
    [
        ("a.geojson", f'{{"at": [{POINTS}], "name": "Bay"}}', '{"at": [[ "name": "Bay"}'),
        ("a.svg", f'<title>Pier</title><path d="{STEPS} "/>', '<title>Pier</title><path d="M "/>'),
        ("a.txt", f"-- key --\n{KEY}-- end --\n", "-- key --\n" + 30 * "\n" + "-- end --\n"),
        ("a.pem", f"-- key --\n{KEY}-- end --\n", "-- key --\n" + 30 * "\n" + "-- end --\n"),
        ("a.json", '{"years": [2031, 2032], "id": 12345}', '{"years": [2031, 2032], "id": 12345}'),
        ("a.json", f"{'4 ' * 31}or more", f"{'4 ' * 31}or more"),
        ("a.json", f"1.2.34 {'4 ' * 40}or more", "1.2.34  or more"),
    ],
)
def test_runs_of_numbers_and_base64_are_left_out(name: str, text: str, kept: str) -> None:
    (document,) = read_bytes(text.encode(), name=name)
    assert document.text == kept
    assert document.text.count("\n") == text.count("\n")


def test_of_records_that_differ_in_numbers_alone_the_first_are_kept() -> None:
    head, tail = "<trk><name>Fell</name>\n", "<name>Hostel</name></trk>\n"
    points = [f'<pt lat="5{n}.2">\n <at>{n}:00</at>\n' for n in range(300)]
    (document,) = read_bytes((head + "".join(points) + tail).encode(), name="a.gpx")
    lines = document.text.split("\n")
    kept = "".join(points).splitlines()[:17]
    assert [line for line in lines if line] == [head.strip(), *kept, tail.strip()]
    assert lines.index(tail.strip()) == 601
    named = "".join(f"- host: gate{n}\n  port: {n}\n" for n in range(300))
    (document,) = read_bytes(named.encode(), name="a.yaml")
    assert document.text == named


@pytest.mark.parametrize("name", ["a.geojson", "quay.zip#fens/TRACK.GPX"])
def test_points_that_are_dropped_are_named(name: str) -> None:
    points = [f'{{"lat": 54.{n:05}, "lon": -1.{n:04}}},\n' for n in range(300)]
    (document,) = read_bytes("".join(points).encode(), name=name)
    assert document.text == "".join(points[:16]) + "\n" * 284
    assert document.metadata["left_out"] == ["points"]
    assert document.metadata["left_out_reasons"] == [
        "284 lines or items that differ in numbers alone"
    ]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("messages", "2031-02-03 12:00:{0:02} sluice {0} shut in 0.{0:04} s\n"),
        ("server.log.1", "[ 123.{0:06}] sluice: opened\n"),
        ("isbns", "978-3-16-{0:06}-1\n"),
        ("isbns", "978316{0:07}\n"),
        ("orders.json", "1{0:04}, "),
        ("prices.json", '{{"sku": 1{0:06}, "price": {0}.99}},'),
        ("prices.yaml", "  - sku: 1{0:06}\n    price: {0}.99\n"),
        ("stock.xml", '<item sku="{0}" price="{0}.50"/>\n'),
        ("indicators.txt", "{0:064x}\n"),
        ("indicators", "{0:096x}\n"),
        ("indicators.ioc", "{0:#066x}\n"),
    ],
)
def test_logs_prices_and_lists_of_identifiers_are_whole(name: str, line: str) -> None:
    text = "".join(line.format(n) for n in range(300))
    (document,) = read_bytes(text.encode(), name=name)
    assert document.text == text
    assert "left_out" not in document.metadata


def test_a_vector_in_a_record_is_left_out() -> None:
    record = {"title": "Berth", "vector": [n / 8 for n in range(64)], "year": [1999, 2001]}
    (document,) = read_bytes(json.dumps(record).encode(), name="a.jsonl")
    assert document.text == "title: Berth, year: 1999, year: 2001"


def test_a_note_that_shows_a_requirement_with_a_hash_is_whole() -> None:
    line = f"    pad==1.0 --hash=sha256:{1:064}\n"
    for note in (f"Write for example\n{line}" + "Then the rest.\n" * 200, "# a comment\n" * 200):
        (document,) = read_bytes(note.encode(), name="pins.txt")
        assert document.text == note


def test_of_requirements_with_hashes_the_first_lines_are_read() -> None:
    text = "".join(f"pad{n}==1.0 \\\n    --hash=sha256:{n:064}\n" for n in range(90))
    (document,) = read_bytes(text.encode(), name="requirements.txt")
    assert text.startswith(document.text)
    assert len(document.text) <= 2_000


@pytest.mark.parametrize(
    "name",
    [
        "package-lock.json", "Cargo.lock", "go.sum", "a.zip#b/yarn.lock", "conda-lock.yml",
        "gradle.lockfile", "Package.resolved", "cabal.project.freeze",
    ],
)  # fmt: skip
def test_of_a_lock_file_the_first_lines_are_read(name: str) -> None:
    text = "".join(f"left-pad {n} sha512-{n:040}\n" for n in range(900))
    (document,) = read_bytes(text.encode(), name=name)
    assert 1_900 < len(document.text) <= 2_000
    assert text.startswith(document.text)
    assert document.text.endswith("\n")
