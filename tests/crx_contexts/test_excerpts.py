"""Excerpts of documents that are longer than a token limit."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from crx.types import Chunk, Document, Mark
from crx_contexts.excerpts import GAP, excerpts


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def document(sections: int, lines: int) -> tuple[Document, list[Chunk]]:
    """Sections of numbered lines of five words, each line a chunk."""
    text = ""
    marks: list[Mark] = []
    chunks: list[Chunk] = []
    for s in range(1, sections + 1):
        start = len(text)
        for i in range(lines):
            line = f"section {s} has line {i}\n"
            end = len(text) + len(line)
            chunks.append(Chunk(len(chunks), len(text), end, 0, 0, s, line))
            text += line
        marks.append(Mark("heading", start, len(text), f"Part {s}", 1))
    return Document("u", text, title="Report", marks=tuple(marks)), chunks


def test_chunks_of_one_section_share_their_excerpt() -> None:
    report, chunks = document(sections=4, lines=8)
    found = excerpts(report, chunks, budget=130, count=words)
    assert [(e.first, e.last) for e in found] == [(0, 8), (8, 16), (16, 24), (24, 32)]
    lines = report.text.splitlines(keepends=True)
    assert found[0].text == "Report\nPart 1\nPart 2\nPart 3\nPart 4\n" + "".join(lines[:19]) + GAP


def test_headings_go_as_deep_as_an_eighth_of_the_budget_allows() -> None:
    report, chunks = document(sections=4, lines=8)
    (first, *_) = excerpts(report, chunks, budget=64, count=words)
    assert first.text.startswith("Report\nsection 1 has line 0\n")


@given(st.integers(1, 6), st.integers(1, 12), st.integers(60, 400))
def test_every_chunk_is_whole_in_an_excerpt_that_fits(
    sections: int, lines: int, budget: int
) -> None:
    report, chunks = document(sections, lines)
    found = excerpts(report, chunks, budget=budget, count=words)
    assert [e.first for e in found] == [0, *(e.last for e in found[:-1])]
    assert found[-1].last == len(chunks)
    for excerpt in found:
        assert words([excerpt.text])[0] <= budget
        assert all(c.text in excerpt.text for c in chunks[excerpt.first : excerpt.last])
