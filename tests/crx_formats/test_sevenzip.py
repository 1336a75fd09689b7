"""Archives of 7-Zip. Those in tests/data/sevenzip were made by 7-Zip 26.02."""

from __future__ import annotations

import random
import tracemalloc
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest
from sevenzips import number, sevenzip, with_header

from crx.errors import InputError, NotText
from crx.ingest.archives import ArchiveBudget, UnreadBlock
from crx.ingest.read import read_bytes
from crx.ingest.unread_parts import PartlyRead
from crx.types import Document
from crx_formats.sevenzip.decode import LZMA2, Coder, make_decoder

DATA = Path(__file__).parent.parent / "data" / "sevenzip"
TEXT = b"Whales eat krill.\n"


def read(data: bytes, *, max_bytes: int = 64_000_000) -> dict[str, str]:
    """Return the texts in an archive by their URIs."""
    budget = ArchiveBudget(max_bytes)
    return {each.uri: each.text for each in read_bytes(data, name="a.7z", budget=budget)}


def failure(data: bytes, *, max_bytes: int = 64_000_000) -> str:
    with pytest.raises(InputError) as caught:
        read(data, max_bytes=max_bytes)
    return str(caught.value)


def made(name: str) -> bytes:
    return (DATA / f"{name}.7z").read_bytes()


@pytest.mark.parametrize("method", ["lzma", "bzip2", "deflate", "copy", "delta"])
def test_files_are_read_whatever_the_method(method: str) -> None:
    assert read(made(method)) == {
        "a.7z#docs/roads.md": "# Roads\n\nA road is long.\n",
        "a.7z#docs/sub/note.txt": "A note.\n",
    }


def test_hidden_files_links_folders_and_programs_are_skipped() -> None:
    """The archive has all of them, an empty file, and two blocks: texts and a program."""
    assert read(made("lzma2")) == {
        "a.7z#docs/façade.txt": "naïve",
        "a.7z#docs/roads.md": "# Roads\n\nA road is long.\n",
        "a.7z#docs/sub/note.txt": "A note.\n",
    }


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ppmd", "docs/roads.md: is compressed with PPMd, which is not read"),
        ("deflate64", "docs/roads.md: is compressed with Deflate64, which is not read"),
        ("bcj2", "docs/true.exe: is compressed with LZMA and BCJ2, which is not read"),
        ("encrypted", "docs/roads.md: is encrypted"),
        ("bomb", "big.txt: expands too much"),
    ],
)
def test_files_of_a_block_that_is_not_read_are_named(name: str, reason: str) -> None:
    with pytest.raises(PartlyRead) as caught:
        read(made(name))
    assert str(caught.value).startswith(reason)


def test_an_archive_whose_list_is_encrypted_says_so() -> None:
    assert failure(made("encrypted-list")) == "is encrypted"


def test_a_path_that_leads_out_is_refused_and_the_others_are_read() -> None:
    data = sevenzip({"../a.txt": b"no", ".hidden": b"no", "b.txt": TEXT, "/c": b"no"})
    found: list[Document] = []
    with pytest.raises(PartlyRead, match=r"\.\./a\.txt: leads out .*; /c: leads out"):
        found += read_bytes(data, name="a.7z")
    budget = ArchiveBudget(1000)
    texts = [each.text for each in _until_failure(data, budget)]
    assert texts == [TEXT.decode()]


def _until_failure(data: bytes, budget: ArchiveBudget) -> list[Document]:
    found = []
    try:
        for document in read_bytes(data, name="a.7z", budget=budget):
            found.append(document)
    except InputError:
        pass
    return found


@pytest.mark.parametrize("name", ["", "./", "."])
def test_a_file_without_a_name_is_refused(name: str) -> None:
    reason = f"{name or '?'}: has no name"
    assert reason in failure(sevenzip({name: TEXT}))
    file, entry = BytesIO(), ZipInfo("a")
    entry.filename = name
    with ZipFile(file, "w") as archive:
        archive.writestr(entry, TEXT)
    if not name.endswith("/"):
        assert reason in failure(file.getvalue())


def test_what_the_files_hold_together_is_limited() -> None:
    data = sevenzip({"a.txt": TEXT, "b.txt": TEXT, "c.txt": TEXT})
    assert len(read(data, max_bytes=3 * len(TEXT))) == 3
    assert "expands too much" in failure(data, max_bytes=3 * len(TEXT) - 1)


def test_an_archive_within_shares_the_limits_and_one_in_that_is_refused() -> None:
    inner = sevenzip({"c.txt": TEXT})
    assert read(sevenzip({"b.7z": inner})) == {"a.7z#b.7z#c.txt": TEXT.decode()}
    assert "expands too much" in failure(sevenzip({"b.7z": inner}), max_bytes=len(inner))
    deep = sevenzip({"z.7z": sevenzip({"b.7z": inner})})
    assert "is an archive in an archive in an archive" in failure(deep)


def test_sizes_that_the_content_does_not_have_are_damage() -> None:
    data = sevenzip({"a.txt": TEXT, "b.txt": TEXT}, sizes={"b.txt": 1000})
    assert "b.txt: is damaged: it ends too early" in failure(data)


def test_a_changed_content_is_damage() -> None:
    data = bytearray(made("copy"))
    data[40] ^= 1
    assert "its checksum is another" in failure(bytes(data))


@pytest.mark.parametrize(
    "header",
    [
        b"\1\5" + number(1 << 60),
        b"\1\4\6" + number(0) + number(1 << 40),
        b"\1\4\7\x0b" + number(1) + b"\0" + number(1 << 30),
        b"\1\5" + number(1) + b"\x11" + number(1 << 50),
        b"\x17\6" + number(1 << 62) + number(1) + b"\x09" + number(1 << 62) + b"\0\0",
        b"\2",
    ],
)
def test_numbers_that_lie_are_damage(header: bytes) -> None:
    assert "is a damaged archive" in failure(with_header(b"", header))


EMPTY = bytes([0xFF])


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"\1\5" + number(200_001) + bytes(200_000), "it has 200,001 files or blocks"),
        (
            b"\1\4\7\x0b" + number(20_001) + b"\0" + b"\1\1\0" * 20_001,
            "it has 20,001 files or blocks",
        ),
        (b"\1\4\6\0" + number(80_001) + b"\x09" + bytes(80_001), "it has 80,001 files or blocks"),
        (b"\1\5" + number(8) + 2 * (b"\x0e\1" + EMPTY) + b"\0\0", "is out of order"),
        (b"\1\5\1" + b"\x11" + number(400_001) + bytes(400_001) + b"\0\0", "has no name"),
    ],
    ids=["entries", "blocks", "streams", "parts", "names"],
)
def test_a_list_that_takes_much_memory_is_refused(header: bytes, reason: str) -> None:
    data = with_header(b"", header)
    tracemalloc.start()
    assert reason in failure(data)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_a_window_of_four_gigabytes_is_not_allocated() -> None:
    coder = Coder(LZMA2, b"\x28")
    with pytest.raises(UnreadBlock):
        make_decoder([coder])
    large = Coder(LZMA2, bytes([34]))
    with pytest.raises(UnreadBlock, match="a window of more than 256 MB"):
        make_decoder([large])


def test_an_empty_archive_has_no_documents() -> None:
    with pytest.raises(NotText, match="is an archive without documents"):
        read(with_header(b"", b""))


@pytest.mark.parametrize("name", ["lzma2", "deflate", "delta", "encrypted", "bcj2"])
def test_whatever_is_damaged_is_refused_in_words(name: str) -> None:
    chosen = random.Random(name)
    whole = made(name)
    for _ in range(150):
        data = bytearray(whole)
        if chosen.random() < 0.3:
            del data[chosen.randrange(len(data)) :]
        for _ in range(chosen.randrange(1, 4)):
            if data:
                data[chosen.randrange(len(data))] = chosen.randrange(256)
        _until_failure(bytes(data), ArchiveBudget(1_000_000))


def test_a_damaged_list_with_a_right_checksum_is_refused_in_words() -> None:
    chosen = random.Random(7)
    whole = sevenzip({"a.txt": TEXT, "b/c.txt": TEXT})
    content, header = whole[32 : 32 + 2 * len(TEXT)], whole[32 + 2 * len(TEXT) :]
    for _ in range(1500):
        data = bytearray(header)
        for _ in range(chosen.randrange(1, 3)):
            data[chosen.randrange(len(data))] = chosen.randrange(256)
        _until_failure(with_header(content, bytes(data)), ArchiveBudget(1_000_000))
