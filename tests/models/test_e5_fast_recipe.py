"""The part of the recipe of e5-fast that needs no torch: the texts to train with."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from models.e5_fast.texts import embedded_texts, write_texts

SENTENCES = [f"The clause numbered {number} names a Supplier." for number in range(60)]
CODE = "".join(
    f"def parse_arguments_{number}(argv):\n    return argv[{number}]\n\n\n" for number in range(60)
)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    for kind in ("en", "code"):
        (folder / kind).mkdir(parents=True)
    (folder / "en/supply.md").write_text(f"# Supply\n\n{' '.join(SENTENCES)}", encoding="utf-8")
    (folder / "code/arguments.py").write_text(CODE, encoding="utf-8")
    return folder


def test_prose_follows_its_outline_and_nothing_is_left_out(documents: Path) -> None:
    found = list(embedded_texts(documents / "en", chunk_chars=800))
    assert len(found) > 1
    assert {kind for kind, _ in found} == {"en"}
    assert all(text.startswith("Supply") for _, text in found)
    whole = " ".join(" ".join(text.split()) for _, text in found)
    assert all(sentence in whole for sentence in SENTENCES)


def test_the_outline_of_source_code_is_a_text_by_itself(documents: Path) -> None:
    found = list(embedded_texts(documents / "code", chunk_chars=800))
    outlines = {text for kind, text in found if kind == "outlines"}
    code = [text for kind, text in found if kind == "code"]
    assert outlines
    assert len(code) > 1
    assert not any(outline in text for outline in outlines for text in code)


def test_texts_are_written_once_in_two_sizes(documents: Path, tmp_path: Path) -> None:
    counts = write_texts(documents, tmp_path / "texts.jsonl")
    lines = [
        json.loads(line)
        for line in (tmp_path / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert sum(counts.values()) == len(lines)
    assert len({(each["kind"], each["text"]) for each in lines}) == len(lines)
    lengths = sorted(len(each["text"]) for each in lines if each["kind"] == "en")
    assert lengths[0] < 400 < lengths[-1]


def test_a_catalogue_in_another_encoding_than_it_declares_is_skipped(documents: Path) -> None:
    before = list(embedded_texts(documents / "en", chunk_chars=800))
    message = "Le fichier n'a pas été trouvé dans ce dossier."
    write_catalogue(documents / "en/broken.mo", "File not found.", message.encode("latin-1"))
    assert list(embedded_texts(documents / "en", chunk_chars=800)) == before
    write_catalogue(documents / "en/whole.mo", "File not found.", message.encode())
    assert len(list(embedded_texts(documents / "en", chunk_chars=800))) == len(before) + 1


def write_catalogue(path: Path, name: str, message: bytes) -> None:
    """Write a catalogue of one message that declares UTF-8."""
    header = b"Content-Type: text/plain; charset=UTF-8\n"
    strings = (b"", name.encode(), header, message)
    starts = [60 + sum(len(each) + 1 for each in strings[:at]) for at in range(len(strings))]
    table = [number for at, each in enumerate(strings) for number in (len(each), starts[at])]
    head = struct.pack("<7I", 0x950412DE, 0, 2, 28, 44, 0, 60)
    path.write_bytes(head + struct.pack("<8I", *table) + b"".join(each + b"\0" for each in strings))
