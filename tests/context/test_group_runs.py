"""Runs of a contextualizer of groups: what an edit costs, and answers that break the form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from group_answers import answer_groups
from surveys import SETTINGS, contexts_by_chunk, survey

import crx
from crx.errors import ModelError
from crx.types import Chunk, Context, Document
from crx_contexts.chunk_groups import GroupContextualizer, GroupPrompt
from crx_contexts.chunk_prompt import Answers, ChunkPrompt, restore_order

pytestmark = pytest.mark.usefixtures("accept_generic_contexts")


class CountedGroups:
    """A contextualizer of groups whose model is a function of the prompt; it counts the calls."""

    fingerprint = "counted"

    def __init__(self, answer: Callable[[str], str] = answer_groups) -> None:
        self._answer = answer
        self.asked: list[str] = []

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        groups = GroupContextualizer(self._ask, GroupPrompt.of(), count_words)
        yield from restore_order(groups.situate(document, chunks))

    def _ask(self, prompts: Sequence[ChunkPrompt]) -> Answers:
        for number, prompt in enumerate(prompts):
            self.asked.append(prompt.suffix)
            yield number, prompt.validate(self._answer(self.asked[-1]), True)  # noqa: FBT003


def count_words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def make_book(place: Path) -> tuple[crx.Index, Path]:
    """Return an index of a book of 40 sections of a few chunks each."""
    book = place / "book.md"
    sections = (f"## Colony {n}\n\n{survey('heron', 5)[32:]}" for n in range(40))
    book.write_text("# Herons\n\n" + "\n".join(sections))
    index = crx.open(place / "notes.crx", settings=SETTINGS)
    index.add(book)
    return index, book


def test_an_edit_of_one_line_costs_the_digest_and_the_groups_around_it(tmp_path: Path) -> None:
    index, book = make_book(tmp_path)
    first = CountedGroups()
    index.contextualize(first)
    assert len(first.asked) > 20
    book.write_text(book.read_text().replace("Colony 20\n", "Colony 20 of terns\n"))
    index.add(book)
    again = CountedGroups()
    made = index.contextualize(again).made
    assert 1 <= sum(made.values()) <= 9
    assert len(again.asked) <= 3
    assert all(row[1] == "ok" for row in contexts_by_chunk(index).values())


def test_a_model_that_writes_one_good_line_a_group_is_stopped_early_in_a_book(
    tmp_path: Path,
) -> None:
    def answer(prompt: str) -> str:
        first, *others = answer_groups(prompt).split("\n")
        # The prompt of a chunk that is asked for alone has no second chunk.
        return "\n".join([first, *(f"{line[:4]}I cannot." for line in others)]) if others else "-"

    index, _ = make_book(tmp_path)
    model = CountedGroups(answer)
    with pytest.raises(ModelError, match=r"80\.0% of 50 contexts rejected"):
        index.contextualize(model)
    assert len(model.asked) < 80


@pytest.mark.parametrize(
    "broken",
    [
        lambda lines: lines[:1],
        lambda lines: [*lines, "[7] A seventh heron.", "[99] And another one."],
        lambda lines: lines[::-1],
        lambda lines: [lines[0] + " heron" * 100_000, *lines[1:]],
        lambda lines: ["", "no number here", *lines, ""],
    ],
    ids=["too few", "too many", "out of order", "endless", "others between"],
)
def test_an_answer_that_breaks_the_form_leaves_every_chunk_an_outcome(
    tmp_path: Path, broken: Callable[[list[str]], list[str]]
) -> None:
    def answer(prompt: str) -> str:
        return "\n".join(broken(answer_groups(prompt).split("\n")))

    (tmp_path / "heron.md").write_text(survey("heron", 5))
    index = crx.open(tmp_path / "notes.crx", settings=SETTINGS)
    index.add(tmp_path / "heron.md")
    index.contextualize(CountedGroups(answer))
    contexts = contexts_by_chunk(index)
    assert {outcome.partition(":")[0] for _, outcome in contexts.values()} <= {
        "ok",
        "retried",
        "rejected",
    }
    for (_, at), (text, _) in contexts.items():
        assert len(text) < 2000, at
        assert "[" not in text
