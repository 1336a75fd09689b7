"""Contexts in groups of chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nest_survey import CHUNKS, DOCUMENT, PARAGRAPHS, SUBJECTS

from crx.types import Chunk, Context
from crx_contexts.chunk_groups import GroupContextualizer, GroupPrompt, LineCounts
from crx_contexts.chunk_prompt import Answers, ChunkPrompt

DIGEST = "Yearly counts of nests by the ringers of the station."


def line(n: int) -> str:
    return f"Counted nests of {SUBJECTS[n]} at the river, {1990 + n}."


def numbered(numbers: Sequence[int], *, first: int = 0) -> str:
    return "\n".join(f"[{n + 1}] {line(first + n)}" for n in numbers)


class Scripted:
    """A model that gives its answers in turn and records what it was asked."""

    def __init__(self, *answers: str | Context) -> None:
        self._answers = iter(answers)
        self.asked: list[str] = []

    def __call__(self, prompts: Sequence[ChunkPrompt]) -> Answers:
        for number, prompt in enumerate(prompts):
            context = self._answer(prompt.suffix, prompt)
            if context.status == "rejected" and prompt.firmer is not None:
                context = self._answer(prompt.firmer, prompt)
            yield number, context

    def _answer(self, text: str, prompt: ChunkPrompt) -> Context:
        self.asked.append(text)
        answer = next(self._answers)
        return answer if isinstance(answer, Context) else prompt.validate(answer, True)  # noqa: FBT003


def situate(model: Scripted, chunks: Sequence[Chunk] = CHUNKS) -> dict[int, Context]:
    contextualizer = GroupContextualizer(
        model, GroupPrompt.of(), lambda texts: [len(text) // 4 for text in texts]
    )
    return dict(contextualizer.situate(DOCUMENT, chunks))


def test_a_context_is_the_digest_and_the_line_of_the_chunk() -> None:
    model = Scripted(DIGEST, numbered(range(6)), numbered(range(2), first=6))
    assert situate(model) == {n: Context(f"{DIGEST}\n{line(n)}") for n in range(8)}
    assert len(model.asked) == 3
    assert f"<document>\n{DIGEST}\n</document>" in model.asked[1]


def test_the_contexts_of_a_window_are_there_before_the_next_group_is_read() -> None:
    model = Scripted(DIGEST, numbered(range(6)), numbered(range(2), first=6))
    contextualizer = GroupContextualizer(
        model, GroupPrompt.of(), lambda texts: [len(text) // 4 for text in texts]
    )
    contexts: Iterator[tuple[int, Context]] = contextualizer.situate(DOCUMENT, CHUNKS)
    assert next(contexts)[0] == 0
    assert contextualizer.counts.first == 6, "all that the answer of a group cost"
    assert [at for at, _ in (next(contexts) for _ in range(5))] == list(range(1, 6))
    assert len(model.asked) == 2


def test_a_missing_and_a_rejected_line_are_asked_for_alone() -> None:
    group = numbered([5, 0, 1, 3]) + "\n[3] This is the text of the document.\n[9] Nine."
    model = Scripted(DIGEST, group, f"[1] {line(2)}", f"[1] {line(4)}")
    contexts = situate(model, CHUNKS[:6])
    assert contexts == {
        n: Context(f"{DIGEST}\n{line(n)}", "retried" if n in (2, 4) else "ok") for n in range(6)
    }
    assert f"<chunks>\n[1] {PARAGRAPHS[2].strip()}\n</chunks>" in model.asked[2]


def test_a_line_that_is_rejected_twice_leaves_its_reason() -> None:
    model = Scripted(DIGEST, "[1] Here is the context.", "[1] I cannot help with that.")
    assert situate(model, CHUNKS[:1]) == {0: Context.rejected("refusal")}


def test_without_a_digest_the_outline_takes_its_place() -> None:
    model = Scripted("Sure, here it is.", "I cannot.", f"[1] {line(0)}")
    assert situate(model, CHUNKS[:1]) == {0: Context(line(0))}
    assert "<document>\nSurvey" in model.asked[2]


def test_a_group_that_fails_costs_its_own_chunks() -> None:
    model = Scripted(DIGEST, Context.failed("too long"), numbered(range(2), first=6))
    contexts = situate(model)
    assert [contexts[n].outcome for n in range(8)] == ["failed:too long"] * 6 + ["ok"] * 2


def test_rejected_lines_are_asked_for_again_before_further_groups() -> None:
    group = numbered(range(5)) + "\n[6] Here is the context."
    model = Scripted(DIGEST, group, f"[1] {line(5)}", numbered(range(2), first=6))
    contextualizer = GroupContextualizer(
        model, GroupPrompt.of(), lambda texts: [len(text) // 4 for text in texts], together=1
    )
    contexts = list(contextualizer.situate(DOCUMENT, CHUNKS))
    assert [at for at, _ in contexts] == list(range(8))
    assert contexts[5][1].status == "retried"
    assert contextualizer.counts == LineCounts(
        first=8, rejected=1, second=1, accepted=1, documents=1, digests=1
    )


def test_a_group_is_asked_for_as_soon_as_another_is_answered() -> None:
    waiting: list[int] = []

    def answer_the_last(prompts: Sequence[ChunkPrompt]) -> Answers:
        left, known = [*range(len(prompts))], len(prompts)
        while left:
            waiting.append(len(left))
            number = left.pop()
            text = f"[1] {line(number - 1)}" if "<chunks>" in prompts[number].suffix else DIGEST
            yield number, prompts[number].validate(text, True)  # noqa: FBT003
            left += range(known, len(prompts))
            known = len(prompts)

    contextualizer = GroupContextualizer(
        answer_the_last, GroupPrompt.of(), lambda texts: [1000 for _ in texts], together=3
    )
    contexts = dict(contextualizer.situate(DOCUMENT, CHUNKS[:7]))
    assert contexts == {n: Context(f"{DIGEST}\n{line(n)}") for n in range(7)}
    assert waiting == [1, 3, 3, 3, 3, 3, 2, 1]


def test_documents_are_read_side_by_side() -> None:
    waiting: list[int] = []

    def answer(prompts: Sequence[ChunkPrompt]) -> Answers:
        for number, prompt in enumerate(prompts):
            waiting.append(len(prompts) - number)
            group = "<chunks>" in prompt.suffix
            chunk = next(
                (n for n, each in enumerate(PARAGRAPHS) if each.strip() in prompt.suffix), 0
            )
            yield number, prompt.validate(f"[1] {line(chunk)}" if group else DIGEST, True)  # noqa: FBT003

    contextualizer = GroupContextualizer(
        answer, GroupPrompt.of(), lambda texts: [1000 for _ in texts], together=3
    )
    documents = [(DOCUMENT, CHUNKS[:1]), (DOCUMENT, []), (DOCUMENT, CHUNKS[1:3])]
    found = {(at, nth): context.text for at, nth, context in contextualizer.situate_many(documents)}
    assert found == {
        (at, nth): f"{DIGEST}\n{line(chunk)}"
        for at, nth, chunk in ((0, 0, 0), (2, 0, 1), (2, 1, 2))
    }
    assert waiting == [2, 2, 3, 2, 1]


def test_a_rejected_line_stays_rejected_once_too_few_second_tries_were_accepted() -> None:
    model = Scripted(DIGEST, "[1] Here is the context.")
    contextualizer = GroupContextualizer(
        model,
        GroupPrompt.of(),
        lambda texts: [len(text) // 4 for text in texts],
        LineCounts(second=30, accepted=5),
    )
    contexts = dict(contextualizer.situate(DOCUMENT, CHUNKS[:1]))
    assert contexts == {0: Context.rejected("preamble")}
