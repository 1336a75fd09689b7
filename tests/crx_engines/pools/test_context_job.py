"""The job of writing contexts: what passes through a pipe, and contextualizers that break off."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

import pytest

from crx._context.documents import DocumentTask
from crx._services.compute_usage import ComputeUsage, Pace
from crx._services.prompt import Prompt
from crx.errors import ModelError
from crx.types import Chunk, Context, Document, Mark
from crx_engines.pools import contexts
from crx_engines.pools.contexts import ContextJob, NumberedTask, WrittenContext, decode_context_job
from crx_runtimes.fake.contextualizer import Fake

TEXT = "# Terms\n\nThe buyer pays.\n\nThe seller delivers."
CHUNKS = {
    2: Chunk(3, 9, 24, 4, 8, 1, "The buyer pays."),
    5: Chunk(6, 26, 46, 8, 12, 1, "The seller delivers."),
}
DOCUMENT = Document("terms.md", TEXT, "Terms", "en", {"year": 2020}, (Mark("heading", 0, 46, "T"),))
TASK = NumberedTask(7, DocumentTask(DOCUMENT, CHUNKS, 1))
JOB = ContextJob("fake:", (None,), (Fake().fingerprint,), threads=2)


def through_a_pipe(message: dict[str, object]) -> dict[str, object]:
    passed: dict[str, object] = json.loads(json.dumps(message))
    return passed


def test_what_passes_through_a_pipe_is_unchanged() -> None:
    prompts = (None, Prompt.of("{document} {chunk}", glossary="Terms: none."))
    job = ContextJob("llama:model.gguf", prompts, ("a", "b"), threads=3)
    assert decode_context_job(through_a_pipe(job.encode())) == job
    assert job.decode_task(through_a_pipe(job.encode_task(TASK))) == TASK
    usage = ComputeUsage(prompt=9, prefilled=4, prefill=Pace(steps=2.0))
    for answer in (
        WrittenContext(5, Context("Terms of sale.", "retried"), usage),
        WrittenContext(2, Context.rejected("empty")),
    ):
        assert job.decode_answer(through_a_pipe(job.encode_answer(answer)), TASK) == answer


def test_a_context_of_a_chunk_that_was_not_asked_for_is_refused() -> None:
    with pytest.raises(ValueError, match="no chunk of the task"):
        JOB.decode_answer(JOB.encode_answer(WrittenContext(3, Context("x"))), TASK)


def _short(self: Fake, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
    yield Context("one")


def _long(self: Fake, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
    yield from [Context("one"), Context("two"), Context("three")]


@pytest.mark.parametrize("situate", [_short, _long])
def test_a_contextualizer_gives_each_chunk_one_context(
    monkeypatch: pytest.MonkeyPatch, situate: Callable[..., Iterator[Context]]
) -> None:
    monkeypatch.setattr(contexts, "use_threads", lambda threads: None)
    monkeypatch.setattr(Fake, "situate", situate)
    task = NumberedTask(0, DocumentTask(DOCUMENT, CHUNKS))
    with pytest.raises(ModelError, match=r"did not give each chunk of terms.md one context"):
        list(JOB.load().run(task))
