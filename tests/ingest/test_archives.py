"""Archives: the files within are documents; bombs, links and paths that lead out are refused."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest

import crx
from crx.errors import InputError, NotText
from crx.ingest import archives
from crx.ingest._worker import isolated_reader
from crx.ingest.read import read_bytes
from crx.types import Document

TEXT = b"Whales eat krill.\n"


def make_zip(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive of files."""
    data = io.BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def make_tar(files: Mapping[str, bytes], mode: str = "w") -> bytes:
    """Return a tar archive of files, compressed as the mode says."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


def add_links(tar: bytes) -> bytes:
    """Return a tar archive with links and a device after its files."""
    data = io.BytesIO(tar)
    with tarfile.open(fileobj=data, mode="a") as archive:
        kinds = {"soft": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE, "pipe": tarfile.FIFOTYPE}
        for name, kind in kinds.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
    return data.getvalue()


def read(data: bytes, name: str = "a.zip", max_bytes: int = 64_000_000) -> list[Document]:
    """Return the documents of an archive."""
    return list(read_bytes(data, name=name, max_bytes=max_bytes))


def failure(data: bytes, name: str = "a.zip", max_bytes: int = 64_000_000) -> str:
    """Return why an archive could not be read, or not all of it."""
    with pytest.raises(InputError) as failed:
        read(data, name, max_bytes)
    return str(failed.value)


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("a.tar", "w"),
        ("a.tar.gz", "w:gz"),
        ("a.tgz", "w:gz"),
        ("a.tar.bz2", "w:bz2"),
        ("a.tar.xz", "w:xz"),
        ("a.zip", ""),
    ],
)
def test_each_file_is_a_document_with_the_path_within_in_its_uri(name: str, mode: str) -> None:
    files = {"docs/guide.md": b"# Whales\n\nWhales eat krill.\n", "README": TEXT, ".git/x": TEXT}
    data = make_tar(files, mode) if mode else make_zip(files)
    guide, readme = read(data, name)
    assert (guide.uri, guide.metadata["format"]) == (f"{name}#docs/guide.md", "markdown")
    assert [mark.label for mark in guide.marks] == ["Whales"]
    assert (readme.uri, readme.text) == (f"{name}#README", TEXT.decode())


def test_formats_with_several_documents_and_compressed_files_are_read_within() -> None:
    found = read(
        make_zip(
            {
                "all.jsonl": b'{"id": "x", "text": "Whales."}\n',
                "log.txt.gz": gzip.compress(TEXT),
                "inner.zip": make_zip({"b.txt": TEXT}),
                "picture.png": b"\x89PNG\r\n\x1a\n\0\0",
            }
        )
    )
    uris = ["a.zip#all.jsonl#x", "a.zip#log.txt.gz", "a.zip#inner.zip#b.txt"]
    assert [document.uri for document in found] == uris


def test_an_archive_in_an_archive_in_an_archive_is_refused() -> None:
    deepest = make_zip({"c.zip": make_zip({"b.zip": make_zip({"a.txt": TEXT})}), "ok.txt": TEXT})
    assert failure(deepest) == (
        "c.zip b.zip is an archive in an archive in an archive, which is not read "
        "(1 documents were read)"
    )


@pytest.mark.parametrize("path", ["../out.txt", "/etc/passwd.txt", "a/../../b.txt", "..\\b.txt"])
def test_paths_that_lead_out_are_refused(path: str) -> None:
    assert "leads out of the archive" in failure(make_zip({path: TEXT}))
    assert "leads out of the archive" in failure(make_tar({path: TEXT}), "a.tar")


def test_links_and_devices_are_skipped() -> None:
    data = io.BytesIO()
    with ZipFile(data, "w") as archive:
        archive.writestr("a.txt", TEXT)
        info = ZipInfo("link.txt")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    assert [document.uri for document in read(data.getvalue())] == ["a.zip#a.txt"]
    linked = add_links(make_tar({"a.txt": TEXT}))
    assert [document.uri for document in read(linked, "a.tar")] == ["a.tar#a.txt"]


def add_hard_links(tar: bytes, links: Mapping[str, str]) -> bytes:
    """Return a tar archive with hard links after its files, by name."""
    data = io.BytesIO(tar)
    with tarfile.open(fileobj=data, mode="a") as archive:
        for name, target in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.LNKTYPE, target
            archive.addfile(entry)
    return data.getvalue()


def test_a_hard_link_of_a_tar_is_read_as_the_file_that_it_shares() -> None:
    links = {"b.txt": "docs/a.txt", "c.txt": "b.txt", "d.txt": "d.txt", "e.txt": "../a.txt"}
    found = read(add_hard_links(make_tar({"docs/a.txt": TEXT}), links), "a.tar")
    assert [(document.uri, document.text) for document in found] == [
        (f"a.tar#{path}", TEXT.decode()) for path in ("docs/a.txt", "b.txt", "c.txt")
    ]


def test_the_content_of_hard_links_is_counted() -> None:
    tar = make_tar({"a.txt": TEXT * 10_000})
    linked = add_hard_links(tar, {f"{n}.txt": "a.txt" for n in range(20)})
    assert "the archive expands too much" in failure(linked, "a.tar", max_bytes=1_000_000)


def test_a_bomb_is_read_up_to_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    ratio = make_zip({"zeros.txt": b"0" * 6_000_000, "ok.txt": TEXT})
    assert failure(ratio) == "zeros.txt: expands too much (1 documents were read)"
    parts = make_zip({f"{n}.txt": TEXT * 50_000 for n in range(4)})
    assert "expands too much" in failure(parts, max_bytes=2_000_000)
    nested = make_zip({f"{n}.zip": make_zip({"x.txt": TEXT * 50_000}) for n in range(4)})
    assert "expands too much" in failure(nested, max_bytes=2_000_000)
    packed = make_zip({f"{n}.txt.gz": gzip.compress(TEXT * 50_000) for n in range(4)})
    assert "expands too much" in failure(packed, max_bytes=2_000_000)
    monkeypatch.setattr(archives, "MOST_FILES", 3)
    many = make_zip({f"{n}.txt": TEXT for n in range(9)})
    assert "more than 3 files" in failure(many)


def test_a_path_that_an_archive_has_twice_is_read_once() -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for content in (TEXT, b"Seals sing.\n"):
            entry = tarfile.TarInfo("a.txt")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    assert failure(data.getvalue(), "a.tar") == "a.txt: was there before (1 documents were read)"


def test_a_damaged_archive_and_one_without_documents_are_told_apart() -> None:
    whole = make_zip({"a.txt": TEXT})
    assert "damaged archive" in failure(whole[: len(whole) // 2])
    assert "damaged archive" in failure(b"no tar at all" * 99, "a.tar")
    with pytest.raises(NotText, match="without documents"):
        read(make_zip({"picture.png": b"\x89PNG\r\n\x1a\n\0\0"}))


def test_files_of_an_archive_are_found_and_go_with_it(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    archive = tmp_path / "docs" / "notes.zip"
    archive.write_bytes(make_zip({"sea/whales.md": b"# Sea\n\nWhales eat krill.\n"}))
    with crx.open(tmp_path / "index", settings={"embedder": "none", "reranker": ""}) as index:
        index.add(tmp_path / "docs")
        (passage,) = index.search("krill").passages
        assert passage.uri == f"{archive}#sea/whales.md"
        archive.unlink()
        index.refresh()
        assert not index.search("krill").passages


def test_a_damaged_tar_is_not_read_as_a_complete_one() -> None:
    whole = make_tar({f"{n}.txt": TEXT for n in range(4)})
    assert len(read(whole, "a.tar")) == 4
    flipped = bytearray(whole)
    flipped[1024 + 3] ^= 1
    for damaged in (bytes(flipped), whole[:1024], whole[:1324], whole[:4096]):
        assert "is a damaged archive: it ends too early" in failure(damaged, "a.tar")
    assert len(read(whole[:4608], "a.tar")) == 4


@pytest.mark.parametrize("name", [".hidden", "b.txt"])
def test_a_tar_that_leads_back_by_a_negative_size_is_damaged(name: str) -> None:
    header = bytearray(tarfile.TarInfo(name).tobuf(tarfile.GNU_FORMAT))
    header[124:136] = (256**12 - 1024).to_bytes(12, "big")
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    tar = make_tar({"a.txt": TEXT})[:1024] + bytes(header) + bytes(1024)
    assert failure(tar, "a.tar") == (
        "is a damaged archive: a size is negative (1 documents were read)"
    )


def test_a_tar_whose_first_name_begins_as_a_zip_archive_does_is_read() -> None:
    (document,) = read(make_tar({"PKG-INFO": TEXT}), "a.tar")
    assert document.uri == "a.tar#PKG-INFO"


def test_a_path_with_a_dot_is_not_hidden() -> None:
    for data, name in (
        (make_tar({"a/./b.txt": TEXT}), "a.tar"),
        (make_zip({"a/./b.txt": TEXT}), "a.zip"),
    ):
        assert [document.text for document in read(data, name)] == [TEXT.decode()]


def test_what_is_refused_counts_against_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    bombs = make_zip({f"{n}.txt": b"0" * 6_000_000 for n in range(5)})
    assert "the archive expands too much" in failure(bombs, max_bytes=14_000_000)
    monkeypatch.setattr(archives, "MOST_FILES", 3)
    assert "more than 3 files" in failure(make_zip({f"../{n}.txt": TEXT for n in range(9)}))


def test_what_is_decompressed_in_an_archive_counts_against_the_limits() -> None:
    packed = make_tar({"x.txt": TEXT * 50_000}, "w:gz")
    tars = make_zip({f"{n}.tgz": packed for n in range(4)} | {"last.txt": TEXT})
    budget = archives.ArchiveBudget(20_000_000)
    assert len(list(read_bytes(tars, name="a.zip", budget=budget))) == 5
    assert budget.bytes_left < 20_000_000 - 8 * len(TEXT * 50_000)
    assert "the archive expands too much" in failure(tars, max_bytes=2_000_000)


def found(index: crx.Index, query: str) -> list[str]:
    """Return the paths within archives of the documents that a query finds."""
    return [passage.uri.partition("#")[2] for passage in index.search(query).passages]


def test_what_is_no_longer_in_an_archive_goes_though_others_are_refused(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    archive = tmp_path / "docs" / "notes.zip"
    inner = make_zip({"c.txt": b"Crabs dig.\n", "d.txt": b"Dolphins click.\n"})
    files = {"x.txt": b"Whales sing.\n", "y.txt": b"Seals bark.\n", "b.zip": inner}
    archive.write_bytes(make_zip(files))
    with crx.open(tmp_path / "index", settings={"embedder": "none", "reranker": ""}) as index:
        index.add(tmp_path / "docs")
        damaged = make_zip({"../out.txt": TEXT, "b.zip": inner[:40]})
        archive.write_bytes(damaged)
        (failed,) = index.refresh().failures
        assert "leads out of the archive" in failed.reason
        assert not found(index, "whales")
        assert found(index, "crabs") == ["b.zip#c.txt"]
        part = make_zip({"c.txt": b"Crabs dig.\n", "../e.txt": TEXT})
        archive.write_bytes(make_zip({"y.txt": b"Seals bark.\n", "b.zip": part}))
        index.refresh()
        assert found(index, "seals") == ["y.txt"]
        assert found(index, "crabs") == ["b.zip#c.txt"]
        assert not found(index, "dolphins")


def test_an_archive_with_links_is_no_failure_and_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    archive = tmp_path / "docs" / "notes.tar"
    archive.write_bytes(add_links(make_tar({"x.txt": b"Whales sing.\n", "y.txt": TEXT})))
    with crx.open(tmp_path / "index", settings={"embedder": "none", "reranker": ""}) as index:
        assert not index.add(tmp_path / "docs").failures
        archive.write_bytes(add_links(make_tar({"y.txt": TEXT})))
        assert not index.refresh().failures
        assert not found(index, "sing")
        assert found(index, "krill") == ["y.txt"]
        assert index.refresh().unchanged == 1


def test_a_damaged_tar_keeps_the_documents_of_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    archive = tmp_path / "docs" / "notes.tar"
    whole = make_tar({"x.txt": TEXT, "y.txt": b"Whales sing.\n"})
    archive.write_bytes(whole)
    with crx.open(tmp_path / "index", settings={"embedder": "none", "reranker": ""}) as index:
        index.add(tmp_path / "docs")
        archive.write_bytes(whole[:1324])
        assert index.refresh().failures
        assert found(index, "sing") == ["y.txt"]


def failures(index: crx.Index) -> dict[str, str]:
    """Return the reasons that the status of an index gives, by the name in the folder."""
    return {uri.rpartition("/docs/")[2]: reason for uri, reason in index.status().failures}


def test_an_archive_with_refused_files_is_read_once_and_they_stay_listed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    archive = tmp_path / "docs" / "notes.zip"
    files = {"x.txt": b"Whales sing.\n", "y.zip": TEXT}
    archive.write_bytes(make_zip({**files, "../out.txt": TEXT}))
    with crx.open(tmp_path / "index", settings={"embedder": "none", "reranker": ""}) as index:
        (failed,) = index.add(tmp_path / "docs").failures
        assert "../out.txt: leads out of the archive (1 documents were read)" in failed.reason
        listed = failures(index)
        assert listed["notes.zip#../out.txt"] == "leads out of the archive"
        assert listed["notes.zip#y.zip"].startswith("is a damaged archive")
        for _ in range(2):
            report = index.refresh()
            assert (report.failures, report.unchanged, failures(index)) == ((), 1, listed)
        # They go with a move of the archive, are forgotten when it is mended, and with it.
        archive = archive.rename(archive.parent / "moved.zip")
        assert index.refresh().renamed == 1
        assert list(failures(index).values()) == list(listed.values())
        assert list(failures(index)) == ["moved.zip#../out.txt", "moved.zip#y.zip"]
        assert index.refresh().failures == ()
        archive.write_bytes(make_zip(files))
        assert len(index.refresh().failures) == 1
        assert list(failures(index)) == ["moved.zip#y.zip"]
        archive.write_bytes(make_zip({"x.txt": b"Whales sing.\n"}))
        assert (index.refresh().failures, failures(index)) == ((), {})
        archive.write_bytes(make_zip({**files, "../out.txt": TEXT}))
        index.refresh()
        archive.unlink()
        assert (index.refresh().removed, failures(index)) == (1, {})


def test_the_refused_files_of_an_archive_are_removed_with_it(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    archive = tmp_path / "docs" / "notes.zip"
    archive.write_bytes(make_zip({"x.txt": TEXT, "../out.txt": TEXT}))
    with crx.open(tmp_path / "index", settings={"embedder": "none", "reranker": ""}) as index:
        index.add(archive)
        assert len(failures(index)) == 1
        index.remove_matching(str(archive))
        assert failures(index) == {}


@pytest.mark.parametrize("name", ["F", "F.zip"])
def test_a_file_named_as_one_in_an_archive_keeps_its_text(tmp_path: Path, name: str) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    owner, other = docs / name, docs / f"{name}#.txt"
    content = make_zip({"x.txt": b"Seals bark.\n"}) if name == "F.zip" else b"Seals bark.\n"
    owner.write_bytes(content)
    other.write_bytes(b"Whales sing.\n")
    settings = {"embedder": "none", "reranker": ""}
    with crx.open(tmp_path / "index", settings=settings) as index:
        index.add(docs)
        other.write_bytes(b"\0" * 100)
        assert [each.uri for each in index.refresh().failures] == [other.as_posix()]
        # The file that its name begins with is read again, is deleted, and is removed.
        owner.write_bytes(content.replace(b"bark", b"bawl"))
        index.refresh()
        assert index.search("whales").passages
        owner.unlink()
        index.refresh()
        assert index.search("whales").passages
        owner.write_bytes(content)
        index.refresh()
        index.remove_matching(str(owner))
        assert index.search("whales").passages
        assert list(failures(index)) == [f"{name}#.txt"]


def test_an_archive_is_read_again_once_pictures_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive may have had pictures, which were skipped; no engine is needed for this one."""
    monkeypatch.setattr(isolated_reader, "require_engine", lambda _: None)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "notes.zip").write_bytes(make_zip({"x.txt": TEXT}))
    (tmp_path / "docs" / "plain.txt").write_bytes(TEXT)
    settings = {"embedder": "none", "reranker": ""}
    with crx.open(tmp_path / "index", settings=settings) as index:
        index.add(tmp_path / "docs")
        assert index.refresh().unchanged == 2
    for changed in (1, 0):
        with crx.open(tmp_path / "index", settings={**settings, "ocr": "rapidocr"}) as index:
            report = index.refresh()
            assert (report.changed, report.unchanged, report.failures) == (changed, 2 - changed, ())


def test_outlines_have_the_new_name_of_a_renamed_archive(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    archive = tmp_path / "docs" / "lighthouse.zip"
    archive.write_bytes(make_zip({"x.py": b"def blow():\n    return whales\n"}))
    with crx.open(tmp_path / "index", settings={"embedder": "none", "reranker": ""}) as index:
        index.add(tmp_path / "docs")
        assert found(index, "lighthouse") == ["x.py"]
        archive.rename(archive.parent / "windmill.zip")
        index.refresh()
        assert found(index, "windmill") == ["x.py"]
        assert found(index, "lighthouse") == []


def test_a_tar_with_a_number_without_an_end_in_a_header_is_refused_unsearched() -> None:
    header = tarfile.TarInfo("header")
    header.type, header.size = tarfile.XHDTYPE, 2_000_000
    data = header.tobuf(tarfile.USTAR_FORMAT) + b"1" * header.size + bytes(4 * tarfile.BLOCKSIZE)
    with pytest.raises(InputError, match="a header has a number of 1,000 digits"):
        list(read_bytes(data, name="a.tar"))
