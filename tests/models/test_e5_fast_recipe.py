"""The part of the recipe of e5-fast that needs no torch: the texts to train with."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

from models.e5_fast.texts import Document, cut, read_documents, write_outlined, write_texts


def chunks(kind: str, text: str, *, seed: int = 0) -> list[str]:
    return list(cut(Document(kind, "Title", text), random.Random(seed)))


def test_chunks_consist_of_whole_sentences_and_leave_out_nothing() -> None:
    sentences = [f"The clause numbered {number} names a Supplier." for number in range(60)]
    found = "\n".join(chunks("en", " ".join(sentences)))
    assert all(sentence in found for sentence in sentences)


def test_chinese_is_cut_at_its_full_stops() -> None:
    found = chunks("zh", "第二季度的收入比上一季度增长了百分之十二。" * 40)
    assert len(found) > 3
    assert all(chunk.endswith("。") for chunk in found)


def test_some_prose_has_a_prefix_and_source_code_has_none_before_it() -> None:
    prose = chunks("en", "Every Widget belongs to one Factory Owner. " * 200)
    prefixed = [chunk for chunk in prose if chunk.startswith("Title: ")]
    assert 0 < len(prefixed) < len(prose)
    code = chunks("code", "def parse_arguments(argv):\n    return argv\n" * 2000)
    assert any(chunk.startswith("Title: ") for chunk in code)
    assert not any("\n" in chunk for chunk in code if chunk.startswith("Title: "))


def test_documents_are_read_by_their_folders(tmp_path: Path) -> None:
    for name in ("en/guides", "fr", "code"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "en/guides/page.html").write_text(
        "<head><title>x</title></head><p>One &amp; two</p><p>Three</p>", encoding="utf-8"
    )
    page = gzip.compress(b'.\\" a comment\n.SH NOM\nls \\- lister\n')
    (tmp_path / "fr/ls.1.gz").write_bytes(page)
    (tmp_path / "code/main.rs").write_text("fn main() {}", encoding="utf-8")
    (tmp_path / "code/latin.py").write_bytes(b"# caf\xe9")
    found = {(each.kind, each.title): each.text for each in read_documents(tmp_path)}
    assert found["code", "main"] == "fn main() {}"
    assert "One & two" in found["en", "page"]
    assert "x" not in found["en", "page"]
    assert found["fr", "ls.1"] == "NOM\nls - lister"
    assert ("code", "latin") not in found


def test_texts_are_written_with_their_kind(tmp_path: Path) -> None:
    (tmp_path / "documents/en").mkdir(parents=True)
    (tmp_path / "documents/en/a.txt").write_text("A short sentence. " * 9, encoding="utf-8")
    counts = write_texts(tmp_path / "documents", tmp_path / "texts.jsonl")
    lines = (tmp_path / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    assert counts["en"] == len(lines)
    assert {json.loads(line)["kind"] for line in lines} == {"en"}


def test_outlines_of_source_code_are_texts_and_those_of_documentation_precede_theirs(
    tmp_path: Path,
) -> None:
    pair = {
        "question": "how",
        "answers": [{"text": "Use it.", "outline": "Guide: Use", "path": "docs/use.md"}],
        "negatives": [{"text": "x = 1", "outline": "def run | class A", "path": "a.py"}] * 2,
    }
    (tmp_path / "pairs.jsonl").write_text(json.dumps(pair) + "\n", encoding="utf-8")
    out = tmp_path / "texts.jsonl"
    counts = write_outlined(tmp_path / "pairs.jsonl", out, share=1)
    assert counts == {"outlines": 1, "outlined": 1}
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert lines == [
        {"kind": "outlines", "text": "def run | class A"},
        {"kind": "outlined", "text": "Guide: Use\nUse it."},
    ]
