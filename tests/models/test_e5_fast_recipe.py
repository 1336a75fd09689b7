"""The part of the recipe of e5-fast that needs no torch: the texts to train with."""

from __future__ import annotations

import json
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
